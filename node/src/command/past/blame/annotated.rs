//! The YAML of an object as lines that know their fields.
//!
//! Invariant: put together, the lines are the YAML that `quorate get -o yaml` prints.

use quorate_meta::{Map, Value};
use quorate_wire::yaml;

use super::field_path::Step;

/// A line.
#[derive(Debug)]
pub(super) struct YamlLine {
    pub(super) text: String,
    /// The field that it shows a part of.
    pub(super) path: Vec<Step>,
    /// Whether it shows a value, and not only the key of what follows.
    pub(super) is_leaf: bool,
}

/// The lines of an object.
pub(super) fn lines(object: &Value) -> Vec<YamlLine> {
    let mut all = Vec::new();
    add(object, "", "", &mut Vec::new(), &mut all);
    all
}

/// Adds the lines of a value. The first one begins with `first`, the others with `indent`.
fn add(value: &Value, first: &str, indent: &str, path: &mut Vec<Step>, all: &mut Vec<YamlLine>) {
    match value {
        Value::Map(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                let begin = if at == 0 { first } else { indent };
                path.push(Step::Key(key.to_owned()));
                add_entry(key, value, begin, indent, path, all);
                path.pop();
            }
        }
        Value::List(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                let begin = if at == 0 { first } else { indent };
                path.push(Step::Index(at));
                add(item, &format!("{begin}- "), &format!("{indent}  "), path, all);
                path.pop();
            }
        }
        // The only value of a document, or an item of a list: YAML says how it is written.
        scalar => {
            let text = yaml::write(&Value::List(vec![scalar.clone()]));
            add_scalar(text.strip_prefix("- ").unwrap_or(&text), first, indent, 2, path, all);
        }
    }
}

fn add_entry(
    key: &str,
    value: &Value,
    begin: &str,
    indent: &str,
    path: &mut Vec<Step>,
    all: &mut Vec<YamlLine>,
) {
    let is_nested = match value {
        Value::Map(map) => !map.is_empty(),
        Value::List(items) => !items.is_empty(),
        _ => false,
    };
    let alone = Value::Map(Map::from([(key, if is_nested { Value::Null } else { value.clone() })]));
    let text = yaml::write(&alone);
    if !is_nested {
        add_scalar(&text, begin, indent, 0, path, all);
        return;
    }
    let key = text.trim_end().strip_suffix(" null").unwrap_or(text.trim_end());
    all.push(YamlLine { text: format!("{begin}{key}"), path: path.clone(), is_leaf: false });
    // Lists are not indented below their key.
    let inner =
        if matches!(value, Value::Map(_)) { format!("{indent}  ") } else { indent.to_owned() };
    add(value, &inner, &inner, path, all);
}

/// Adds the lines of a scalar; those after the first lose `cut` spaces, which they have from the place they were written in.
fn add_scalar(
    text: &str,
    first: &str,
    indent: &str,
    cut: usize,
    path: &[Step],
    all: &mut Vec<YamlLine>,
) {
    for (at, line) in text.trim_end_matches('\n').split('\n').enumerate() {
        let text = if at == 0 {
            format!("{first}{line}")
        } else if line.is_empty() {
            String::new()
        } else {
            format!("{indent}{}", line.get(cut..).unwrap_or_default())
        };
        all.push(YamlLine { text, path: path.to_vec(), is_leaf: true });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: serde_json::Value) {
        let object = Value::from(object);
        let text: Vec<String> = lines(&object).into_iter().map(|line| line.text).collect();
        assert_eq!(text.join("\n"), yaml::write(&object).trim_end_matches('\n'));
    }

    #[test]
    fn lines_are_those_of_the_yaml() {
        check(json!({"a": 1, "b": {"c": "yes", "d": null, "e": {}, "f": []}}));
        check(json!({"l": [{"x": 1, "y": {"z": true}}, {"x": 2}], "m": [[1, 2], [3]]}));
        check(
            json!({"text": "one\n\n  two\n", "list": ["one\ntwo", "three"], "n": {"deep": "a\nb\n"}}),
        );
        check(json!({"a.b/c": "x", "1": "2", "": "empty", "k: v": "- x", "quoted": "1.0"}));
        check(json!({"items": [{"name": "a", "data": ["x\ny\n", {}]}]}));
        check(json!({"tab": "\tx\ny"}));
    }
}
