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
        let mut steps = EQUALITY_STEPS_MAX;
        self.equals_within(other, &mut steps)
    }

    /// Whether this equals `other`; each pair of elements takes one of `steps`, and when none is left the evaluation ends.
    pub(crate) fn equals_within(
        &self,
        other: &Value<'_>,
        steps: &mut u64,
    ) -> Result<bool, EvalError> {
        Ok(match (self, other) {
            (Self::Null, _) | (_, Value::Null) => {
                matches!((self, other), (Self::Null, Value::Null))
            }
            (Self::Bool(left), Value::Bool(right)) => left == right,
            (Self::Int(left), Value::Int(right)) => left == right,
            (Self::Uint(left), Value::Uint(right)) => left == right,
            #[expect(clippy::float_cmp, reason = "equality of the language is exact")]
            (Self::Double(left), Value::Double(right)) => left == right,
            (Self::Int(left), Value::Uint(right)) => int_to_uint(*left, *right).is_eq(),
            (Self::Uint(left), Value::Int(right)) => int_to_uint(*right, *left).is_eq(),
            (Self::Double(left), Value::Int(right)) => {
                double_to_int(*left, *right) == Some(Ordering::Equal)
            }
            (Self::Int(left), Value::Double(right)) => {
                double_to_int(*right, *left) == Some(Ordering::Equal)
            }
            (Self::Double(left), Value::Uint(right)) => {
                double_to_uint(*left, *right) == Some(Ordering::Equal)
            }
            (Self::Uint(left), Value::Double(right)) => {
                double_to_uint(*right, *left) == Some(Ordering::Equal)
            }
            (Self::String(left), Value::String(right)) => left == right,
            (Self::Bytes(left), Value::Bytes(right)) => left == right,
            (Self::Timestamp(left), Value::Timestamp(right)) => left == right,
            (Self::Duration(left), Value::Duration(right)) => left == right,
            (Self::Type(left), Value::Type(right)) => left == right,
            (Self::List(left), Value::List(right)) => return equal_lists(left, right, steps),
            (Self::Map(left), Value::Map(right)) => return equal_maps(left, right, steps),
            (Self::List(list), _) if list.is_declared() => {
                return Err(EvalError::no_such_overload());
            }
            (Self::Map(map), _) if map.is_declared() => return Err(EvalError::no_such_overload()),
            (Self::Optional(left), Value::Optional(right)) => match (left, right) {
                (Some(left), Some(right)) => return left.equals_within(right, steps),
                (left, right) => left.is_none() && right.is_none(),
            },
            (Self::Opaque(left), right) => return left.equals(right),
            _ => false,
        })
    }

    /// Whether this is not unequal to `other`: an error counts as equal, as in the elements of lists and maps.
    fn matches_element(&self, other: &Value<'_>, steps: &mut u64) -> Result<bool, EvalError> {
        match self.equals_within(other, steps) {
            Err(error) if !error.is_final() => Ok(true),
            answer => answer,
        }
    }
}

/// So many pairs of elements are compared at most: lists that hold one list many times may have more than any time is enough
/// for.
const EQUALITY_STEPS_MAX: u64 = 20_000_000;

fn step(steps: &mut u64) -> Result<(), EvalError> {
    *steps = steps.checked_sub(1).ok_or(EvalError::CostLimit)?;
    Ok(())
}

fn equal_lists(left: &List<'_>, right: &List<'_>, steps: &mut u64) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.semantics() {
        ListSemantics::Atomic => {
            let declared = left.is_declared();
            for (left, right) in left.iter().zip(right.iter()) {
                step(steps)?;
                let equal = if declared {
                    left.equals_within(&right, steps)?
                } else {
                    left.matches_element(&right, steps)?
                };
                if !equal {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ListSemantics::Set => {
            for right in right.iter() {
                let mut found = false;
                for left in left.iter() {
                    step(steps)?;
                    found |= left.equals_within(&right, steps) == Ok(true);
                }
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ListSemantics::Map(keys) => {
            for right in right.iter() {
                *steps = steps.checked_sub(left.len() as u64).ok_or(EvalError::CostLimit)?;
                let Some(left) = left.iter().find(|left| same_element(left, &right, keys)) else {
                    return Ok(false);
                };
                if !left.equals_within(&right, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Whether two elements of a `map` list have the same keys.
pub(super) fn same_element(left: &Value<'_>, right: &Value<'_>, keys: &[crate::ast::Name]) -> bool {
    let (Value::Map(left), Value::Map(right)) = (left, right) else {
        return false;
    };
    keys.iter().all(|key| match (left.get_str(key), right.get_str(key)) {
        (Some(left), Some(right)) => left.equals(&right).unwrap_or(false),
        (left, right) => left.is_none() && right.is_none(),
    })
}

fn equal_maps(left: &Map<'_>, right: &Map<'_>, steps: &mut u64) -> Result<bool, EvalError> {
    if left.len() != right.len() || left.type_name() != right.type_name() {
        return Ok(false);
    }
    if !undeclared_fields_equal(left, right, steps)? {
        return Ok(false);
    }
    for (key, value) in left.iter() {
        step(steps)?;
        let Some(other) = right.find(&key)? else {
            return Ok(false);
        };
        let equal = if left.is_declared() {
            value.equals_within(&other, steps)?
        } else {
            value.matches_element(&other, steps)?
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the fields of an object that its schema does not declare are those of `right`, as far as it has them.
fn undeclared_fields_equal(
    left: &Map<'_>,
    right: &Map<'_>,
    steps: &mut u64,
) -> Result<bool, EvalError> {
    let undeclared = left.undeclared();
    if !undeclared.is_empty() && right.object().is_none() {
        return Err(EvalError::no_such_overload());
    }
    for (key, value) in undeclared {
        step(steps)?;
        if let Some(other) = right.raw(&key)
            && !value.matches_element(&other, steps)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}
