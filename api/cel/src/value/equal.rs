//! Equality of values.
//!
//! Invariants: `null` equals only `null`; values of different types are unequal, save numbers, which compare by value, and the
//! libraries' own types, which decide themselves when they stand on the left.

use std::cmp::Ordering;

use super::compare::{double_to_int, double_to_uint, int_to_uint};
use super::{List, ListSemantics, Map, Value};
use crate::eval::EvalError;

impl Value<'_> {
    /// Whether this equals `other`, which stands on the right.
    ///
    /// # Errors
    /// When a library's own type does not compare with that of `other`.
    pub fn equals(&self, other: &Value<'_>) -> Result<bool, EvalError> {
        Ok(match (self, other) {
            (Self::Null, _) | (_, Value::Null) => matches!((self, other), (Self::Null, Value::Null)),
            (Self::Bool(left), Value::Bool(right)) => left == right,
            (Self::Int(left), Value::Int(right)) => left == right,
            (Self::Uint(left), Value::Uint(right)) => left == right,
            #[expect(clippy::float_cmp, reason = "equality of the language is exact")]
            (Self::Double(left), Value::Double(right)) => left == right,
            (Self::Int(left), Value::Uint(right)) => int_to_uint(*left, *right).is_eq(),
            (Self::Uint(left), Value::Int(right)) => int_to_uint(*right, *left).is_eq(),
            (Self::Double(left), Value::Int(right)) => double_to_int(*left, *right) == Some(Ordering::Equal),
            (Self::Int(left), Value::Double(right)) => double_to_int(*right, *left) == Some(Ordering::Equal),
            (Self::Double(left), Value::Uint(right)) => double_to_uint(*left, *right) == Some(Ordering::Equal),
            (Self::Uint(left), Value::Double(right)) => double_to_uint(*right, *left) == Some(Ordering::Equal),
            (Self::String(left), Value::String(right)) => left == right,
            (Self::Bytes(left), Value::Bytes(right)) => left == right,
            (Self::Timestamp(left), Value::Timestamp(right)) => left == right,
            (Self::Duration(left), Value::Duration(right)) => left == right,
            (Self::Type(left), Value::Type(right)) => left == right,
            (Self::List(left), Value::List(right)) => return equal_lists(left, right),
            (Self::Map(left), Value::Map(right)) => return equal_maps(left, right),
            (Self::List(list), _) if list.is_declared() => return Err(EvalError::no_such_overload()),
            (Self::Map(map), _) if map.is_declared() => return Err(EvalError::no_such_overload()),
            (Self::Optional(left), Value::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => return left.equals(right),
                (left, right) => left.is_none() && right.is_none(),
            },
            (Self::Opaque(left), right) => return left.equals(right),
            _ => false,
        })
    }

    /// Whether this is not unequal to `other`: an error counts as equal, as in the elements of lists and maps.
    fn matches_element(&self, other: &Value<'_>) -> bool {
        self.equals(other).unwrap_or(true)
    }
}

fn equal_lists(left: &List<'_>, right: &List<'_>) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.semantics() {
        ListSemantics::Atomic if left.is_declared() => {
            for (left, right) in left.iter().zip(right.iter()) {
                if !left.equals(&right)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ListSemantics::Atomic => Ok(left.iter().zip(right.iter()).all(|(left, right)| left.matches_element(&right))),
        ListSemantics::Set => {
            Ok(right.iter().all(|right| left.iter().any(|left| left.equals(&right).unwrap_or(false))))
        }
        ListSemantics::Map(keys) => {
            for right in right.iter() {
                let Some(left) = left.iter().find(|left| same_element(left, &right, keys)) else {
                    return Ok(false);
                };
                if !left.equals(&right)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Whether two elements of a `map` list have the same keys.
pub(super) fn same_element(left: &Value<'_>, right: &Value<'_>, keys: &[crate::ast::Name]) -> bool {
    let (Value::Map(left), Value::Map(right)) = (left, right) else { return false };
    keys.iter().all(|key| match (left.get_str(key), right.get_str(key)) {
        (Some(left), Some(right)) => left.equals(&right).unwrap_or(false),
        (left, right) => left.is_none() && right.is_none(),
    })
}

fn equal_maps(left: &Map<'_>, right: &Map<'_>) -> Result<bool, EvalError> {
    if left.len() != right.len() || left.type_name() != right.type_name() {
        return Ok(false);
    }
    if !undeclared_fields_equal(left, right)? {
        return Ok(false);
    }
    for (key, value) in left.iter() {
        let Some(other) = right.find(&key)? else { return Ok(false) };
        let equal = if left.is_declared() { value.equals(&other)? } else { value.matches_element(&other) };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the fields of an object that its schema does not declare are those of `right`, as far as it has them.
fn undeclared_fields_equal(left: &Map<'_>, right: &Map<'_>) -> Result<bool, EvalError> {
    let Some((left, shape)) = left.object() else { return Ok(true) };
    let mut undeclared = left.iter().filter(|(key, _)| shape.field_of_key(key).is_none()).peekable();
    if undeclared.peek().is_none() {
        return Ok(true);
    }
    let (right, _) = right.object().ok_or(EvalError::no_such_overload())?;
    Ok(undeclared.all(|(key, value)| right.get(key).is_none_or(|other| other == value)))
}
