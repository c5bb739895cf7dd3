//! Order of values.

use std::cmp::Ordering;

use super::Value;
use crate::eval::EvalError;

const UNORDERED: &str = "NaN values cannot be ordered";

impl Value<'_> {
    /// Whether its type has an order.
    pub fn is_ordered(&self) -> bool {
        matches!(
            self,
            Self::Bool(_)
                | Self::Int(_)
                | Self::Uint(_)
                | Self::Double(_)
                | Self::String(_)
                | Self::Bytes(_)
                | Self::Timestamp(_)
                | Self::Duration(_)
        )
    }

    /// How this is ordered towards `other`, which stands on the right.
    ///
    /// # Errors
    /// When the types have no common order, or a number is none.
    pub fn order(&self, other: &Value<'_>) -> Result<Ordering, EvalError> {
        let doubles = |ordering: Option<Ordering>| ordering.ok_or(EvalError::new(UNORDERED));
        Ok(match (self, other) {
            (Self::Int(left), Value::Int(right)) => left.cmp(right),
            (Self::Uint(left), Value::Uint(right)) => left.cmp(right),
            (Self::Int(left), Value::Uint(right)) => int_to_uint(*left, *right),
            (Self::Uint(left), Value::Int(right)) => int_to_uint(*right, *left).reverse(),
            (Self::Double(left), _) if left.is_nan() => return Err(EvalError::new(UNORDERED)),
            (Self::Double(left), Value::Double(right)) => return doubles(left.partial_cmp(right)),
            (Self::Double(left), Value::Int(right)) => {
                return doubles(double_to_int(*left, *right));
            }
            (Self::Double(left), Value::Uint(right)) => {
                return doubles(double_to_uint(*left, *right));
            }
            (Self::Int(left), Value::Double(right)) => {
                return doubles(double_to_int(*right, *left).map(Ordering::reverse));
            }
            (Self::Uint(left), Value::Double(right)) => {
                return doubles(double_to_uint(*right, *left).map(Ordering::reverse));
            }
            (Self::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Self::String(left), Value::String(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Self::Bytes(left), Value::Bytes(right)) => (**left).cmp(&**right),
            (Self::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
            (Self::Duration(left), Value::Duration(right)) => left.cmp(right),
            _ => return Err(EvalError::no_such_overload()),
        })
    }
}

/// How an integer is ordered towards an unsigned one.
pub(super) fn int_to_uint(left: i64, right: u64) -> Ordering {
    u64::try_from(left).map_or(Ordering::Less, |left| left.cmp(&right))
}

/// How a double is ordered towards an integer, which is rounded to a double.
#[expect(clippy::cast_precision_loss, reason = "the language compares so")]
pub(super) fn double_to_int(left: f64, right: i64) -> Option<Ordering> {
    if left > i64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    left.partial_cmp(&(right as f64))
}

/// How a double is ordered towards an unsigned integer, which is rounded to a double.
#[expect(clippy::cast_precision_loss, reason = "the language compares so")]
pub(super) fn double_to_uint(left: f64, right: u64) -> Option<Ordering> {
    if left > u64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    left.partial_cmp(&(right as f64))
}
