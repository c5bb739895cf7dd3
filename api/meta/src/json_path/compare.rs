//! Comparisons in filters: only values of the same type compare, and a whole number is of another
//! type than a number with a fraction.

use std::cmp::Ordering;

use super::Operator;
use crate::Value;

/// Whether a comparison holds; `None` when the two cannot be compared that way.
pub(super) fn holds(operator: Operator, left: &Value, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => match operator {
            Operator::Equal => return Some(left == right),
            Operator::NotEqual => return Some(left != right),
            _ => return None,
        },
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(_) | Value::UInt(_), Value::Float(_) | Value::UInt(_)) => {
            left.as_f64()?.partial_cmp(&right.as_f64()?)
        }
        (Value::String(left), Value::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        _ => return None,
    };
    Some(match operator {
        Operator::Less => order == Some(Ordering::Less),
        Operator::LessOrEqual => order.is_some_and(Ordering::is_le),
        Operator::Equal => order == Some(Ordering::Equal),
        Operator::NotEqual => order != Some(Ordering::Equal),
        Operator::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        Operator::Greater => order == Some(Ordering::Greater),
        Operator::Unknown => return None,
    })
}
