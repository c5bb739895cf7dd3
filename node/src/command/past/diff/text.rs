//! The unified diff of an object's YAML.

use quorate_meta::{Map, Value};
use quorate_wire::yaml;
use similar::TextDiff;

/// Lines around a difference.
const CONTEXT_LINES: usize = 3;
/// The name of what is not there.
const NOTHING: &str = "/dev/null";
/// What stands for a value of a Secret.
const MASK: &str = "***";
const MASK_BEFORE: &str = "*** (before)";
const MASK_AFTER: &str = "*** (after)";
/// The fields of a Secret that hold its values.
const SECRET_FIELDS: [&str; 2] = ["data", "stringData"];
const BOLD: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const CYAN: &str = "36";

/// An object at a moment, as text; `None` when it was not there.
#[derive(Debug)]
pub(super) struct Side(Option<String>);

impl Side {
    /// Both sides of an object, with what is not compared left out.
    pub(super) fn pair(
        mut from: Option<Value>,
        mut to: Option<Value>,
        is_secret: bool,
        with_managed_fields: bool,
    ) -> [Self; 2] {
        if is_secret {
            mask(&mut from, &mut to);
        }
        [from, to].map(|object| {
            Self(object.map(|mut object| {
                if !with_managed_fields {
                    object.remove_at(&["metadata", "managedFields"]);
                    object.remove_at(&["metadata", "resourceVersion"]);
                }
                yaml::write(&object)
            }))
        })
    }
}

/// Hides the values of a Secret, but not whether they differ.
fn mask(from: &mut Option<Value>, to: &mut Option<Value>) {
    for field in SECRET_FIELDS {
        let values = |object: &Option<Value>| {
            object.as_ref().and_then(|object| object.get(field)?.as_map().cloned())
        };
        let (before, after) = (values(from), values(to));
        hide(from, field, after, MASK_BEFORE);
        hide(to, field, before, MASK_AFTER);
    }
}

/// Hides the values of a field; those that are others on the other side are hidden otherwise.
fn hide(object: &mut Option<Value>, field: &str, others: Option<Map>, differs: &str) {
    let map = object.as_mut().and_then(|object| object.get_mut(field)?.as_map_mut());
    let others = others.unwrap_or_default();
    if let Some(map) = map {
        map.retain(|key, value| {
            let is_other = others.get(key).is_some_and(|other| other != value);
            *value = if is_other { differs } else { MASK }.into();
            true
        });
    }
}

/// The difference; `None` when there is none.
pub(super) fn unified(sides: &[Side; 2], title: &str, from: &str, to: &str) -> Option<String> {
    let [old, new] = sides.each_ref().map(|side| side.0.as_deref().unwrap_or_default());
    if old == new {
        return None;
    }
    let header = |side: &Side, moment: &str| match side.0 {
        Some(_) => format!("{title}\t{moment}"),
        None => format!("{NOTHING}\t{moment}"),
    };
    let diff = TextDiff::from_lines(old, new);
    let [older, newer] = sides;
    let text = diff
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&header(older, from), &header(newer, to))
        .to_string();
    Some(text)
}

/// The text for a terminal.
pub(super) fn coloured(text: &str) -> String {
    let colour = |line: &str| match line.as_bytes() {
        [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => Some(BOLD),
        [b'-', ..] => Some(RED),
        [b'+', ..] => Some(GREEN),
        [b'@', ..] => Some(CYAN),
        _ => None,
    };
    text.lines()
        .map(|line| match colour(line) {
            Some(code) => format!("\u{1b}[{code}m{line}\u{1b}[0m\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[track_caller]
    fn check(from: Json, to: Json, is_secret: bool, expect: &[&str]) {
        let object = |json: Json| (!json.is_null()).then(|| Value::from(json));
        let sides = Side::pair(object(from), object(to), is_secret, false);
        let text = unified(&sides, "x/a", "7", "now").unwrap_or_default();
        assert_eq!(text.lines().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn objects_differ() {
        let a = json!({"metadata": {"name": "a", "resourceVersion": "1", "managedFields": [{}]}, "spec": {"size": 1}});
        let b = json!({"metadata": {"name": "a", "resourceVersion": "2"}, "spec": {"size": 2}});
        let lines = [
            "--- x/a\t7",
            "+++ x/a\tnow",
            "@@ -1,4 +1,4 @@",
            " metadata:",
            "   name: a",
            " spec:",
            "-  size: 1",
            "+  size: 2",
        ];
        check(a.clone(), b, false, &lines);
        let touched =
            json!({"metadata": {"name": "a", "resourceVersion": "3"}, "spec": {"size": 1}});
        check(a.clone(), touched, false, &[]);
        let gone = [
            "--- x/a\t7",
            "+++ /dev/null\tnow",
            "@@ -1,4 +0,0 @@",
            "-metadata:",
            "-  name: a",
            "-spec:",
            "-  size: 1",
        ];
        check(a, Json::Null, false, &gone);
    }

    #[test]
    fn secrets_are_masked() {
        let a = json!({"data": {"k": "b2xk", "same": "eA=="}});
        let b = json!({"data": {"k": "bmV3", "same": "eA==", "more": "eQ=="}});
        let lines = [
            "--- x/a\t7",
            "+++ x/a\tnow",
            "@@ -1,3 +1,4 @@",
            " data:",
            "-  k: \"*** (before)\"",
            "+  k: \"*** (after)\"",
            "+  more: \"***\"",
            "   same: \"***\"",
        ];
        check(a, b, true, &lines);
    }

    #[test]
    fn terminals_have_colours() {
        assert_eq!(
            coloured("--- a\n-b\n+c\n d\n"),
            "\u{1b}[1m--- a\u{1b}[0m\n\u{1b}[31m-b\u{1b}[0m\n\u{1b}[32m+c\u{1b}[0m\n d\n"
        );
    }
}
