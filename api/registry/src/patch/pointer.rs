//! JSON Pointer (RFC 6901) and the changes of a tree at a pointer.
//!
//! Invariant: a change that fails leaves the tree as it was.

use std::fmt;

use quorate_meta::Value;

/// The decoded steps of a pointer; empty for the whole document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer(Vec<String>);

impl Pointer {
    /// Reads a pointer; `None` when it neither is empty nor begins with `/`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        let steps = text.strip_prefix('/')?.split('/');
        Some(Self(steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// The steps from the whole document to the value.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether `other` lies below this pointer.
    pub(super) fn contains(&self, other: &Self) -> bool {
        other.0.len() > self.0.len() && other.0.starts_with(&self.0)
    }

    /// The value at the pointer.
    pub(super) fn get<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        follow(root, &self.0)
    }

    /// The value at the pointer; `null` for a member that a map does not have.
    pub(super) fn get_member<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        static ABSENT: Value = Value::Null;
        let (last, parents) = self.0.split_last()?;
        match follow(root, parents)? {
            Value::Map(map) => Some(map.get(last).unwrap_or(&ABSENT)),
            list => follow(list, std::slice::from_ref(last)),
        }
    }

    /// The number of siblings that are shifted by an insertion or removal there.
    pub(super) fn siblings_after(&self, root: &Value) -> usize {
        let Some((last, parents)) = self.0.split_last() else {
            return 0;
        };
        match follow(root, parents) {
            Some(Value::Map(map)) => map.len_after(last),
            // An insertion has one place more than a removal.
            Some(Value::List(items)) => {
                index(last, items.len() + 1).map_or(0, |at| items.len().saturating_sub(at))
            }
            _ => 0,
        }
    }

    /// The number of siblings that are shifted when [`Pointer::put`] sets a member there: those of
    /// the first step that is absent.
    pub(super) fn moved_by_put(&self, root: &Value) -> usize {
        let mut value = root;
        for step in &self.0 {
            let Value::Map(map) = value else { return 0 };
            let Some(below) = map.get(step) else {
                return map.len_after(step);
            };
            value = below;
        }
        0
    }

    /// The value at the pointer, to change.
    pub(super) fn get_mut<'v>(&self, root: &'v mut Value) -> Option<&'v mut Value> {
        walk(root, &self.0)
    }

    /// Sets a member of nested maps, which are created where nothing is; nothing happens where
    /// another value is.
    pub(super) fn put(&self, root: &mut Value, value: Value) {
        let steps: Vec<&str> = self.0.iter().map(String::as_str).collect();
        root.set_at(&steps, value);
    }

    /// Sets a member, or inserts an element before the one at the pointer; `-` appends.
    pub(super) fn add(&self, root: &mut Value, value: Value) -> Option<()> {
        let Some((last, parents)) = self.0.split_last() else {
            *root = value;
            return Some(());
        };
        match walk(root, parents)? {
            Value::Map(map) => {
                map.insert(last.as_str(), value);
            }
            Value::List(items) => {
                let at = if last == "-" { items.len() } else { index(last, items.len() + 1)? };
                if at > items.len() {
                    return None;
                }
                items.insert(at, value);
            }
            _ => return None,
        }
        Some(())
    }

    /// Removes the value at the pointer. The whole document cannot be removed.
    pub(super) fn remove(&self, root: &mut Value) -> Option<Value> {
        let (last, parents) = self.0.split_last()?;
        match walk(root, parents)? {
            Value::Map(map) => map.remove(last),
            Value::List(items) => {
                let at = index(last, items.len())?;
                (at < items.len()).then(|| items.remove(at))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

fn follow<'v>(root: &'v Value, steps: &[String]) -> Option<&'v Value> {
    steps.iter().try_fold(root, |value, step| match value {
        Value::Map(map) => map.get(step),
        Value::List(items) => items.get(index(step, items.len())?),
        _ => None,
    })
}

fn walk<'v>(root: &'v mut Value, steps: &[String]) -> Option<&'v mut Value> {
    steps.iter().try_fold(root, |value, step| match value {
        Value::Map(map) => map.get_mut(step),
        Value::List(items) => {
            let at = index(step, items.len())?;
            items.get_mut(at)
        }
        _ => None,
    })
}

/// An index in a list of so many places: digits without a leading zero, or the distance from the
/// end, as `-1`. RFC 6901 has no indexes from the end, but clients of release 1.35 use them.
fn index(step: &str, places: usize) -> Option<usize> {
    let digits = step.strip_prefix('-').unwrap_or(step);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    let number: usize = digits.parse().ok().filter(|_| plain)?;
    if digits.len() == step.len() { Some(number) } else { places.checked_sub(number) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_examples_of_the_standard() {
        let tree = Value::from(json!({"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8}));
        for (pointer, expect) in
            [("/foo/0", json!("bar")), ("/", json!(0)), ("/a~1b", json!(1)), ("/m~0n", json!(8))]
        {
            let pointer = Pointer::parse(pointer).unwrap();
            assert_eq!(pointer.get(&tree), Some(&Value::from(expect)));
        }
        for absent in ["/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/bar", "/m~n/x"] {
            assert_eq!(Pointer::parse(absent).unwrap().get(&tree), None, "{absent}");
        }
        assert_eq!(Pointer::parse("foo"), None);
    }

    #[test]
    fn places_may_be_counted_from_the_end() {
        let check =
            |step: &str, expect: Option<usize>| assert_eq!(index(step, 3), expect, "{step}");
        for (step, expect) in [("0", 0), ("12", 12), ("-1", 2), ("-3", 0)] {
            check(step, Some(expect));
        }
        for step in ["", "-", "-4", "-01", "--1", "+1", "1-"] {
            check(step, None);
        }
    }

    #[test]
    fn what_is_put_moves_the_siblings_of_the_first_absent_step() {
        let check = |pointer: &str, expect: usize| {
            let tree = Value::from(json!({"b": {"x": 1, "y": 2}, "c": [1, 2], "d": null}));
            assert_eq!(Pointer::parse(pointer).unwrap().moved_by_put(&tree), expect, "{pointer}");
        };
        for (pointer, expect) in
            [("/a", 3), ("/a/b/c", 3), ("/b/a", 2), ("/b/xx/a", 1), ("/b/z", 0), ("/e/a", 0)]
        {
            check(pointer, expect);
        }
        for unmoved in ["", "/b", "/b/x", "/b/x/a", "/c/0", "/c/0/a", "/d/a"] {
            check(unmoved, 0);
        }
    }
}
