//! JSON Patch (RFC 6902).
//!
//! Invariants: the form of a patch is checked when it is read ([`Malformed`]), its operations when
//! it is applied ([`Rejected`]); an application that fails may leave the working copy half changed,
//! so callers discard it. The cost of a patch is bounded.
//!
//! Not here: pointers.

use quorate_meta::{Map, Value};
use quorate_wire::json::MAX_DEPTH;
use thiserror::Error;

use super::pointer::Pointer;

/// Operations that one patch may hold.
pub const MAX_OPERATIONS: usize = 10_000;
/// Values (and bytes of text) that the operations of one patch may copy or move deeper, all
/// together: without this limit a few operations, each of which copies the whole document, would
/// use any amount of memory.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// List elements and map entries that the operations of one patch may shift, all together: each
/// insertion and removal shifts what comes after it, and without this limit ten thousand of them at
/// the head of a long list would take minutes.
const MAX_SHIFTED: usize = 32 * 1024 * 1024;
/// Map entries that may be shifted while the fields that a patch names are collected: as many as
/// its operations can shift.
const MAX_NAMED_SHIFTED: usize = MAX_OPERATIONS * MAX_OPERATIONS / 2;

/// The remaining cost that the operations of one patch may have.
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
    /// An operation that cannot be carried out: an unknown name, a missing member, an invalid
    /// pointer.
    Nonsense,
}

/// The reason why a document is no JSON patch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The document is not a list of objects.
    #[error("cannot read a JSON {found} as {wanted}")]
    Shape {
        /// The type that was found.
        found: &'static str,
        /// The type that was expected.
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
    /// The index of the operation, from zero.
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
            let Value::Map(item) = item else {
                return Err(Malformed::Shape { found, wanted: "an operation" });
            };
            let known = |key: &str| matches!(key, "op" | "path" | "from" | "value");
            patch.unknown.extend(
                item.keys().filter(|key| !known(key)).map(|key| format!("[{index}].{key}")),
            );
            patch.operations.push(Operation::read(&item.into()).unwrap_or(Operation::Nonsense));
        }
        Ok(patch)
    }

    /// Unknown members of operations, as `[INDEX].NAME`.
    #[must_use]
    pub fn unknown_members(&self) -> &[String] {
        &self.unknown
    }

    /// The values that the patch sets, each at its path, as far as no list is on the way. A value
    /// too deep to be set is left out: a tree that deep could not even be dropped. So is a value
    /// that would shift more than the limit: hardly any patch that does so can be carried out.
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

    /// Why an operation cannot be carried out, in the words of Kubernetes' servers. Nothing of the
    /// values is told.
    #[must_use]
    pub fn explain(&self, Rejected { index }: Rejected) -> String {
        let missing = |operation: &str, path: &Pointer| {
            format!(
                "{operation} operation does not apply: doc is missing path: {path}: missing value"
            )
        };
        match self.operations.get(index) {
            Some(Operation::Add(path, _)) => missing("add", path),
            Some(Operation::Remove(path)) => missing("remove", path),
            Some(Operation::Replace(path, _)) => missing("replace", path),
            Some(Operation::Move { from, .. }) => missing("move", from),
            Some(Operation::Copy { from, .. }) => missing("copy", from),
            Some(Operation::Test(path, _)) => format!("testing value {path} failed: test failed"),
            Some(Operation::Nonsense) | None => format!("operation {index} is not valid"),
        }
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
                let found =
                    if value.is_null() { path.get_member(target) } else { path.get(target) };
                found.is_some_and(|found| equal(found, value)).then_some(())
            }
            Self::Nonsense => None,
        }
    }
}

/// The size of a value.
struct Measure {
    /// Values in it, itself included, and bytes of its texts.
    size: usize,
    /// Levels of lists and maps.
    depth: usize,
}

fn measure(value: &Value) -> Measure {
    let around = |sum: Measure, part: Measure| Measure {
        size: sum.size + part.size,
        depth: sum.depth.max(part.depth + 1),
    };
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

/// Whether a value of this depth may be set at this path: a stored object must read back.
fn fits(path: &Pointer, depth: usize) -> Option<()> {
    (path.len() + depth <= MAX_DEPTH).then_some(())
}

impl Budget {
    /// Charges a copy of a value.
    fn copy(&mut self, value: &Value, to: &Pointer) -> Option<()> {
        let Measure { size, depth } = measure(value);
        self.copied = self.copied.checked_sub(size)?;
        fits(to, depth)
    }

    /// Charges an insertion or removal.
    fn shift(&mut self, path: &Pointer, target: &Value) -> Option<()> {
        self.shifted = self.shifted.checked_sub(path.siblings_after(target))?;
        Some(())
    }
}

/// Equality of JSON values: numbers by value, whatever their notation.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            let pairs = left.iter().zip(right.iter());
            left.len() == right.len()
                && pairs.into_iter().all(|((k, left), (l, right))| k == l && equal(left, right))
        }
        (Value::Float(number), other) | (other, Value::Float(number)) => {
            other.as_f64() == Some(*number)
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests;
