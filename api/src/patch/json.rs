//! JSON Patch (RFC 6902).
//!
//! Invariants: a patch is checked for form when it is read ([`Malformed`]) and for sense when it is applied
//! ([`Rejected`]); an application that fails may leave the working copy half changed, so callers throw it away.

use quorate_meta::{Map, Value};
use quorate_wire::json::MAX_DEPTH;
use thiserror::Error;

use super::pointer::Pointer;

/// Operations that one patch may hold.
pub const MAX_OPERATIONS: usize = 10_000;
/// Values (and bytes of text) that the operations of one patch may copy or move deeper, all together: without this a few
/// operations, each of which copies the whole, would make any amount of memory.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// List elements and map entries that the operations of one patch may move aside, all together: each insertion and removal
/// moves what comes after it, and without this ten thousand of them at the head of a long list would take minutes.
const MAX_SHIFTED: usize = 32 * 1024 * 1024;
/// Map entries that may move aside while what a patch names is gathered: as many as its operations can move of each other.
const MAX_NAMED_SHIFTED: usize = MAX_OPERATIONS * MAX_OPERATIONS / 2;

/// What the operations of one patch may still cost.
struct Budget {
    copied: usize,
    shifted: usize,
}

/// A parsed patch.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
    unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operation {
    Add(Pointer, Value),
    Remove(Pointer),
    Replace(Pointer, Value),
    Move {
        from: Pointer,
        to: Pointer,
    },
    Copy {
        from: Pointer,
        to: Pointer,
    },
    Test(Pointer, Value),
    /// Whatever cannot be carried out: an unknown name, a missing member, a pointer that is none.
    Nonsense,
}

/// The document is no JSON patch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    /// Something else than a list of objects.
    #[error("cannot read a JSON {found} as {wanted}")]
    Shape {
        /// What is there.
        found: &'static str,
        /// What should be.
        wanted: &'static str,
    },
    /// More than [`MAX_OPERATIONS`].
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooMany(usize),
}

/// An operation cannot be carried out on this object, or a test failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("operation {index} of the patch cannot be carried out")]
pub struct Rejected {
    /// Which operation, counted from zero.
    pub index: usize,
}

impl JsonPatch {
    /// Reads a patch document.
    pub fn parse(document: Value) -> Result<Self, Malformed> {
        let found = document.type_name();
        let Value::List(items) = document else {
            return Err(Malformed::Shape { found, wanted: "a list of operations" });
        };
        if items.len() > MAX_OPERATIONS {
            return Err(Malformed::TooMany(items.len()));
        }
        let mut patch = Self { operations: Vec::with_capacity(items.len()), unknown: Vec::new() };
        for (index, item) in items.into_iter().enumerate() {
            let found = item.type_name();
            let Value::Map(item) = item else { return Err(Malformed::Shape { found, wanted: "an operation" }) };
            let known = |key: &str| matches!(key, "op" | "path" | "from" | "value");
            patch.unknown.extend(item.keys().filter(|key| !known(key)).map(|key| format!("[{index}].{key}")));
            patch.operations.push(Operation::read(&item.into()).unwrap_or(Operation::Nonsense));
        }
        Ok(patch)
    }

    /// Members of operations that mean nothing, as `[INDEX].NAME`.
    #[must_use]
    pub fn unknown_members(&self) -> &[String] {
        &self.unknown
    }

    /// The values that it sets, each where its path says, as far as no list is on the way. What lies too deep to be set is
    /// left out: a tree that deep could not even be dropped. So is what would move more aside than may: hardly any patch
    /// that does so can be carried out.
    #[must_use]
    pub fn named(&self) -> Value {
        let mut named = Value::Map(Map::new());
        let mut shifted = MAX_NAMED_SHIFTED;
        for operation in &self.operations {
            if let Operation::Add(path, value) | Operation::Replace(path, value) = operation
                && fits(path, measure(value).depth).is_some()
                && let Some(left) = shifted.checked_sub(path.moved_by_put(&named))
            {
                shifted = left;
                path.put(&mut named, value.clone());
            }
        }
        named
    }

    /// Carries out every operation in order.
    pub fn apply(&self, target: &mut Value) -> Result<(), Rejected> {
        let mut budget = Budget { copied: MAX_COPIED, shifted: MAX_SHIFTED };
        for (index, operation) in self.operations.iter().enumerate() {
            operation.apply(target, &mut budget).ok_or(Rejected { index })?;
        }
        Ok(())
    }
}

impl Operation {
    fn read(item: &Value) -> Option<Self> {
        let pointer = |name: &str| item.get(name).and_then(Value::as_str).and_then(Pointer::parse);
        let value = || item.get("value").cloned();
        let path = pointer("path")?;
        Some(match item.get("op")?.as_str()? {
            "add" => Self::Add(path, value()?),
            "remove" => Self::Remove(path),
            "replace" => Self::Replace(path, value()?),
            "move" => Self::Move { from: pointer("from")?, to: path },
            "copy" => Self::Copy { from: pointer("from")?, to: path },
            "test" => Self::Test(path, value().unwrap_or_default()),
            _ => return None,
        })
    }

    fn apply(&self, target: &mut Value, budget: &mut Budget) -> Option<()> {
        match self {
            Self::Add(path, value) => {
                fits(path, measure(value).depth)?;
                budget.shift(path, target)?;
                path.add(target, value.clone())
            }
            Self::Remove(path) => {
                budget.shift(path, target)?;
                path.remove(target).map(drop)
            }
            Self::Replace(path, value) => {
                fits(path, measure(value).depth)?;
                *path.get_mut(target)? = value.clone();
                Some(())
            }
            Self::Move { from, to } if from == to => from.get(target).map(drop),
            Self::Move { from, to } => {
                if from.contains(to) {
                    return None;
                }
                if to.len() > from.len() {
                    budget.copy(from.get(target)?, to)?;
                }
                budget.shift(from, target)?;
                let value = from.remove(target)?;
                budget.shift(to, target)?;
                to.add(target, value)
            }
            Self::Copy { from, to } => {
                let value = from.get(target)?;
                budget.copy(value, to)?;
                budget.shift(to, target)?;
                to.add(target, value.clone())
            }
            Self::Test(path, value) => {
                let found = if value.is_null() { path.get_member(target) } else { path.get(target) };
                found.is_some_and(|found| equal(found, value)).then_some(())
            }
            Self::Nonsense => None,
        }
    }
}

/// How large a value is.
struct Measure {
    /// Values in it, itself included, and bytes of its texts.
    size: usize,
    /// Levels of lists and maps.
    depth: usize,
}

fn measure(value: &Value) -> Measure {
    let around =
        |sum: Measure, part: Measure| Measure { size: sum.size + part.size, depth: sum.depth.max(part.depth + 1) };
    match value {
        Value::List(items) => items.iter().map(measure).fold(Measure { size: 1, depth: 1 }, around),
        Value::Map(map) => {
            let parts = map.iter().map(|(key, value)| {
                let Measure { size, depth } = measure(value);
                Measure { size: size + key.len(), depth }
            });
            parts.fold(Measure { size: 1, depth: 1 }, around)
        }
        Value::String(text) => Measure { size: 1 + text.len(), depth: 0 },
        _ => Measure { size: 1, depth: 0 },
    }
}

/// Whether a value of this depth may stand there: what is stored has to be read again.
fn fits(path: &Pointer, depth: usize) -> Option<()> {
    (path.len() + depth <= MAX_DEPTH).then_some(())
}

impl Budget {
    /// Pays for a copy of a value.
    fn copy(&mut self, value: &Value, to: &Pointer) -> Option<()> {
        let Measure { size, depth } = measure(value);
        self.copied = self.copied.checked_sub(size)?;
        fits(to, depth)
    }

    /// Pays for an insertion or removal.
    fn shift(&mut self, path: &Pointer, target: &Value) -> Option<()> {
        self.shifted = self.shifted.checked_sub(path.siblings_after(target))?;
        Some(())
    }
}

/// Equality of JSON values: numbers by value, whatever their notation.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            let pairs = left.iter().zip(right.iter());
            left.len() == right.len() && pairs.into_iter().all(|((k, left), (l, right))| k == l && equal(left, right))
        }
        (Value::Float(number), other) | (other, Value::Float(number)) => other.as_f64() == Some(*number),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(target: serde_json::Value, patch: serde_json::Value, expect: Option<serde_json::Value>) {
        let mut value = Value::from(target);
        let outcome = JsonPatch::parse(patch.into()).unwrap().apply(&mut value);
        assert_eq!(outcome.ok().map(|()| value), expect.map(Value::from));
    }

    #[test]
    fn operations() {
        let add = |path: &str, value: serde_json::Value| json!([{"op": "add", "path": path, "value": value}]);
        check(json!({"a": 1}), add("/b", json!(2)), Some(json!({"a": 1, "b": 2})));
        check(json!({"a": 1}), add("/a", json!(null)), Some(json!({"a": null})));
        check(json!({"a": [1, 3]}), add("/a/1", json!(2)), Some(json!({"a": [1, 2, 3]})));
        check(json!({"a": [1]}), add("/a/-", json!(2)), Some(json!({"a": [1, 2]})));
        check(json!({"a": [1]}), add("/a/2", json!(2)), None);
        check(json!({}), add("/b/c", json!(2)), None);
        check(json!({"a": 1}), add("", json!([])), Some(json!([])));
        check(json!({"a": 1}), json!([{"op": "remove", "path": "/a"}]), Some(json!({})));
        check(json!({"a": 1}), json!([{"op": "remove", "path": "/b"}]), None);
        check(json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/0"}]), Some(json!({"a": [2]})));
        check(json!({"a": 1}), json!([{"op": "replace", "path": "/a", "value": {}}]), Some(json!({"a": {}})));
        check(json!({"a": 1}), json!([{"op": "replace", "path": "/b", "value": 1}]), None);
        check(
            json!({"a": {"b": 1}}),
            json!([{"op": "move", "from": "/a/b", "path": "/c"}]),
            Some(json!({"a": {}, "c": 1})),
        );
        check(json!({"a": {"b": 1}}), json!([{"op": "move", "from": "/a", "path": "/a/c"}]), None);
        check(json!({"a": [1, 2]}), add("/a/-1", json!(3)), Some(json!({"a": [1, 2, 3]})));
        check(json!({"a": [1, 2]}), add("/a/-3", json!(3)), Some(json!({"a": [3, 1, 2]})));
        check(json!({"a": [1, 2]}), add("/a/-4", json!(3)), None);
        check(json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/-2"}]), Some(json!({"a": [2]})));
        check(json!({"a": [1]}), json!([{"op": "replace", "path": "/a/-1", "value": 2}]), Some(json!({"a": [2]})));
        check(json!({"a": [1]}), json!([{"op": "remove", "path": "/a/-2"}]), None);
        check(json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/a"}]), Some(json!({"a": 1})));
        check(json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), Some(json!({"a": 1, "b": 1})));
        check(json!({"a": 1}), json!([{"op": "copy", "from": "/c", "path": "/b"}]), None);
    }

    #[test]
    fn copies_are_bounded_in_size_and_depth() {
        let copies = |count: usize, deeper: bool| {
            let path = |at: usize| if deeper { "/a".repeat(at + 1) } else { format!("/{at}") };
            let copies = (0..count).map(|at| json!({"op": "copy", "from": "", "path": path(at)}));
            let mut value = Value::from(json!({"text": "x".repeat(64)}));
            JsonPatch::parse(copies.collect::<serde_json::Value>().into())
                .unwrap()
                .apply(&mut value)
                .map(|()| measure(&value).depth)
        };
        assert_eq!(copies(8, false), Ok(9));
        assert_eq!(copies(5, true), Ok(16));
        assert!(copies(64, false).is_err() && copies(64, true).is_err());
        let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let nest = |levels: usize| json!([{"op": "add", "path": "/a", "value": deep(levels)}]);
        let patched = |patch: serde_json::Value| JsonPatch::parse(patch.into()).unwrap().apply(&mut json!({}).into());
        assert!(patched(nest(MAX_DEPTH - 1)).is_ok() && patched(nest(MAX_DEPTH)).is_err());
    }

    #[test]
    fn what_moves_aside_is_bounded() {
        const LENGTH: usize = MAX_SHIFTED / 64;
        let patched = |operation: serde_json::Value, target: serde_json::Value, count: usize| {
            let patch = JsonPatch::parse(Value::List(vec![operation.into(); count])).unwrap();
            patch.apply(&mut target.into()).map_err(|rejected| rejected.index)
        };
        let list = || json!({"a": vec![0; LENGTH]});
        let first = json!({"op": "add", "path": "/a/0", "value": 0});
        assert_eq!(patched(first, list(), 65), Err(63));
        assert_eq!(patched(json!({"op": "remove", "path": "/a/0"}), list(), 65), Err(64));
        assert_eq!(patched(json!({"op": "add", "path": "/a/-", "value": 0}), list(), 65), Ok(()));
        assert_eq!(patched(json!({"op": "move", "from": "/a/0", "path": "/a/1"}), list(), 65), Err(32));
        let heads = (1..=65).map(|turn| json!({"op": "add", "path": format!("/a/-{}", LENGTH + turn), "value": 0}));
        let patch = JsonPatch::parse(Value::List(heads.map(Value::from).collect())).unwrap();
        assert_eq!(patch.apply(&mut list().into()).map_err(|rejected| rejected.index), Err(63));
        let map = || (0..LENGTH).map(|at| (format!("k{at:07}"), json!(0))).collect::<serde_json::Map<_, _>>();
        let turns = |count: usize| {
            let pair = [json!({"op": "add", "path": "/b", "value": 0}), json!({"op": "remove", "path": "/b"})];
            let all = pair.map(Value::from).into_iter().cycle().take(2 * count).collect();
            let patch = JsonPatch::parse(Value::List(all)).unwrap();
            patch.apply(&mut Value::from(json!(map()))).map_err(|rejected| rejected.index)
        };
        assert_eq!((turns(32), turns(33)), (Ok(()), Err(64)));
    }

    #[test]
    fn tests_compare_values() {
        let test = |path: &str, value: serde_json::Value| json!([{"op": "test", "path": path, "value": value}]);
        check(
            json!({"a": {"x": 1, "y": [2]}}),
            test("/a", json!({"y": [2.0], "x": 1})),
            Some(json!({"a": {"x": 1, "y": [2]}})),
        );
        check(json!({"a": {"x": 1, "y": 2}}), test("/a", json!({"x": 1})), None);
        check(json!({"a": 1}), test("/b", json!(1)), None);
        check(json!({"a": null}), json!([{"op": "test", "path": "/a"}]), Some(json!({"a": null})));
        check(json!({"a": 1}), test("/b", json!(null)), Some(json!({"a": 1})));
        check(json!({"a": 1}), test("/a", json!(null)), None);
        check(json!({"a": 1}), test("/b/c", json!(null)), None);
        check(json!({"a": [1]}), test("/a/1", json!(null)), None);
    }

    #[test]
    fn nonsense_is_rejected_when_applied() {
        for operation in [
            json!({"op": "dance", "path": "/a"}),
            json!({"op": "add", "path": "/a"}),
            json!({"op": "remove"}),
            json!({"op": "remove", "path": "a"}),
        ] {
            check(json!({"a": 1}), json!([operation]), None);
        }
    }

    #[test]
    fn what_is_no_list_of_objects_is_malformed() {
        for document in [json!({"op": "remove", "path": "/a"}), json!("x"), json!([1])] {
            assert!(matches!(JsonPatch::parse(document.into()), Err(Malformed::Shape { .. })));
        }
        let many = Value::List(vec![json!({}).into(); MAX_OPERATIONS + 1]);
        assert_eq!(JsonPatch::parse(many), Err(Malformed::TooMany(10_001)));
    }

    #[test]
    fn paths_that_are_too_deep_name_nothing() {
        let path = "/a".repeat(1_000_000);
        let patch = json!([{"op": "add", "path": path, "value": 1}, {"op": "add", "path": "/b", "value": 2}]);
        let patch = JsonPatch::parse(patch.into()).unwrap();
        assert_eq!(patch.named(), json!({"b": 2}).into());
        assert_eq!(patch.apply(&mut json!({}).into()), Err(Rejected { index: 0 }));
    }

    #[test]
    fn what_moves_aside_for_names_is_bounded() {
        const LENGTH: usize = MAX_NAMED_SHIFTED / 100;
        let add = |path: &str, value: Value| Operation::Add(Pointer::parse(path).unwrap(), value);
        let keys: Map = (0..LENGTH).map(|at| (format!("z{at:07}"), Value::Null)).collect();
        let mut operations = vec![add("/m", Value::Map(keys))];
        operations.extend((0..101).map(|at| add(&format!("/m/a{at:03}/x"), Value::Null)));
        let named = JsonPatch { operations, unknown: Vec::new() }.named();
        assert_eq!(named.get("m").and_then(Value::as_map).map(Map::len), Some(LENGTH + 100));
    }

    #[test]
    fn unknown_members_are_named() {
        let patch =
            json!([{"op": "test", "path": "", "because": 1}, {"op": "remove", "path": "/a", "x": 1, "from": ""}]);
        assert_eq!(JsonPatch::parse(patch.into()).unwrap().unknown_members(), ["[0].because", "[1].x"]);
    }
}
