//! Paths of fields as the server writes them, found in an object.
//!
//! `.spec.replicas`, `.metadata.labels["a.b/c"]`, `.spec.containers[name="web"].image`, `.spec.args[0]`, and
//! `.metadata.finalizers[="x"]` for an item of a set. Which keys tell items of a list apart is known to the server only, so
//! that a path is found by looking, and not made.

use quorate_meta::Value;

/// A step into an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Into a map.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// The steps of a path; `None` when it leads nowhere in this object.
pub(super) fn resolve(object: &Value, path: &str) -> Option<Vec<Step>> {
    let (mut value, mut rest, mut steps) = (object, path, Vec::new());
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('.') {
            Some(named) => plain_key(value, named)?,
            None => bracket(value, rest.strip_prefix('[')?)?,
        };
        value = match &step {
            Step::Key(key) => value.get(key)?,
            Step::Index(at) => value.as_list()?.get(*at)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// The longest key of the map that the text begins with, so that keys with dots are found too.
fn plain_key<'p>(value: &Value, text: &'p str) -> Option<(Step, &'p str)> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let fits = |key: &str| text.strip_prefix(key).filter(|rest| ends(rest));
    let keys = value.as_map()?.iter().map(|(key, _)| key);
    let key = keys.filter(|key| fits(key).is_some()).max_by_key(|key| key.len())?;
    Some((Step::Key(key.to_owned()), fits(key)?))
}

/// What stands in brackets: a key, an index, or what an item of a list has.
fn bracket<'p>(value: &Value, text: &'p str) -> Option<(Step, &'p str)> {
    if text.starts_with('"') {
        let (key, rest) = literal(text)?;
        return Some((Step::Key(key.as_str()?.to_owned()), rest.strip_prefix(']')?));
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let (number, rest) = text.split_once(']')?;
        return Some((Step::Index(number.parse().ok()?), rest));
    }
    let mut conditions = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (expected, after) = literal(after)?;
        conditions.push((name.trim(), expected));
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => {
                rest = after.strip_prefix(']')?;
                break;
            }
        }
    }
    // How many of the conditions an item meets by what it has; a key that it does not have is told by its default.
    let met = |item: &Value| {
        conditions.iter().try_fold(0, |met, (name, expected)| match *name {
            "" => (item == expected).then_some(met + 1),
            name => {
                item.get(name).map_or(Some(met), |found| (found == expected).then_some(met + 1))
            }
        })
    };
    let items = value.as_list()?.iter().enumerate();
    let found = items.filter_map(|(at, item)| Some((met(item).filter(|met| *met > 0)?, at)));
    let (_, at) = found.max_by_key(|(met, at)| (*met, std::cmp::Reverse(*at)))?;
    Some((Step::Index(at), rest))
}

/// A JSON scalar at the beginning of a text, and what follows.
fn literal(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_found() {
        let object: Value = json!({
            "a": {"b": 1, "b.c/d": 2, "e]\"": 3},
            "list": [{"name": "x", "v": 1}, {"name": "y", "port": 80, "protocol": "UDP"}, {"name": "z", "port": 80}],
            "set": ["p", "q"], "plain": [1, 2],
        })
        .into();
        let check = |path: &str, expect: Option<&str>| {
            let found = resolve(&object, path).map(|steps| {
                let words = steps.iter().map(|step| match step {
                    Step::Key(key) => key.clone(),
                    Step::Index(at) => at.to_string(),
                });
                words.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), expect, "{path}");
        };
        check(".a.b", Some("a b"));
        check(".a[\"b.c/d\"]", Some("a b.c/d"));
        check(".a.b.c/d", Some("a b.c/d"));
        check(".a[\"e]\\\"\"]", Some("a e]\""));
        check(".list[name=\"y\"].port", Some("list 1 port"));
        check(".list[port=80,protocol=\"UDP\"]", Some("list 1"));
        check(".list[port=80,protocol=\"TCP\"]", Some("list 2"));
        check(".set[=\"q\"]", Some("set 1"));
        check(".plain[1]", Some("plain 1"));
        check(".plain[2]", None);
        check(".a.c", None);
        check(".list[name=\"w\"]", None);
        check("a", None);
        check(".a[", None);
    }
}
