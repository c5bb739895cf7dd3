//! Scalars read from variables and constants without making values of them: the short way of comparisons.
//!
//! Invariants: nothing is charged and nothing changes here, so that whatever the short way does not know (an error, a limit, a
//! value of another type) is evaluated in full by the caller. Not here: the full way.

use quorate_meta as data;

use super::{Context, attribute};
use crate::plan::node::{Add, Arithmetic, ArithmeticOperator, Node};
use crate::value::{Shape, Text, Value};

/// A scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Text(&'a str),
}

/// A scalar, and what reading it costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peeked<'a> {
    pub(super) scalar: Scalar<'a>,
    pub(super) cost: u64,
}

impl<'a> Scalar<'a> {
    /// The scalar that a value is which is kept for the time `'a`.
    #[inline]
    pub(super) fn of_kept(value: &'a Value<'a>) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text)),
            value => Self::of(value),
        }
    }

    /// The scalar that a value is, as far as it outlives the evaluation.
    #[inline]
    pub(super) fn of(value: &Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::String(Text::Borrowed(text)) => Self::Text(text),
            _ => return None,
        })
    }

    /// The scalar that data is, read as `shape` says.
    #[inline]
    fn of_data(value: &'a data::Value, shape: &Shape) -> Option<Self> {
        Some(match (value, shape) {
            (data::Value::String(text), Shape::Dyn | Shape::String | Shape::IntOrString) => {
                Self::Text(text)
            }
            (data::Value::Int(value), Shape::Dyn | Shape::Int | Shape::IntOrString) => {
                Self::Int(*value)
            }
            (data::Value::Bool(value), Shape::Dyn | Shape::Bool) => Self::Bool(*value),
            (data::Value::Null, _) => Self::Null,
            _ => return None,
        })
    }

    /// Size for the purpose of cost.
    #[inline]
    pub(super) fn cost_size(self) -> u64 {
        match self {
            Self::Text(text) => Text::Borrowed(text).code_points() as u64,
            _ => 1,
        }
    }
}

/// The scalar that a node reads or computes.
pub(super) fn peek<'a>(node: &'a Node, context: &Context<'a>) -> Option<Peeked<'a>> {
    match node {
        Node::Constant(value) => Some(Peeked { scalar: Scalar::of_kept(value)?, cost: 0 }),
        Node::Attribute(path) if path.is_path => {
            if path.qualifiers.is_empty() {
                return Some(Peeked { scalar: context.scalar(&path.base)?, cost: 1 });
            }
            let (value, shape) = attribute::follow(path, context)?;
            Some(Peeked {
                scalar: Scalar::of_data(value, shape)?,
                cost: path.qualifiers.len() as u64 + 1,
            })
        }
        Node::Size(operand) => size(operand, context),
        Node::Add(add) => sum(add, context),
        Node::Arithmetic(operation) => arithmetic(operation, context),
        _ => None,
    }
}

/// `size` of text or of data.
fn size<'a>(operand: &'a Node, context: &Context<'a>) -> Option<Peeked<'a>> {
    let (size, cost) = match operand {
        Node::Attribute(path) if path.is_path && !path.qualifiers.is_empty() => {
            let (value, shape) = attribute::follow(path, context)?;
            let size = match (value, shape) {
                (data::Value::List(items), Shape::Dyn | Shape::List(_)) => items.len() as u64,
                (data::Value::Map(map), Shape::Dyn | Shape::Map(_) | Shape::Object(_)) => {
                    map.len() as u64
                }
                (data::Value::String(_), Shape::Dyn | Shape::String) => {
                    Scalar::of_data(value, shape)?.cost_size()
                }
                _ => return None,
            };
            (size, path.qualifiers.len() as u64 + 1)
        }
        Node::Attribute(path) if path.is_path => (context.plain(&path.base)?.size()?, 1),
        _ => return None,
    };
    Some(Peeked { scalar: Scalar::Int(i64::try_from(size).ok()?), cost: cost + 1 })
}

fn sum<'a>(add: &'a Add, context: &Context<'a>) -> Option<Peeked<'a>> {
    let [left, right] = &add.operands;
    let (left, right) = (peek(left, context)?, peek(right, context)?);
    match (left.scalar, right.scalar) {
        (Scalar::Int(first), Scalar::Int(second)) => {
            let scalar = Scalar::Int(first.checked_add(second)?);
            Some(Peeked { scalar, cost: left.cost + right.cost + 1 })
        }
        _ => None,
    }
}

fn arithmetic<'a>(operation: &'a Arithmetic, context: &Context<'a>) -> Option<Peeked<'a>> {
    let [left, right] = &operation.operands;
    let (left, right) = (peek(left, context)?, peek(right, context)?);
    let (Scalar::Int(first), Scalar::Int(second)) = (left.scalar, right.scalar) else {
        return None;
    };
    let result = match operation.operator {
        ArithmeticOperator::Subtract => first.checked_sub(second),
        ArithmeticOperator::Multiply => first.checked_mul(second),
        ArithmeticOperator::Divide => first.checked_div(second),
        ArithmeticOperator::Modulo => first.checked_rem(second),
    };
    Some(Peeked { scalar: Scalar::Int(result?), cost: left.cost + right.cost + 1 })
}

/// Both operands, when both are scalars.
#[inline]
pub(super) fn pair<'a>(
    [left, right]: &'a [Node; 2],
    context: &Context<'a>,
) -> Option<(Scalar<'a>, Scalar<'a>, u64)> {
    let (left, right) = (peek(left, context)?, peek(right, context)?);
    Some((left.scalar, right.scalar, left.cost + right.cost))
}

/// A tenth of the smaller size.
#[inline]
pub(super) fn cost_of_comparing(left: Scalar<'_>, right: Scalar<'_>) -> u64 {
    match (left, right) {
        // Text of at most ten bytes has at most ten code points.
        (Scalar::Text(left), Scalar::Text(right)) if left.len().min(right.len()) <= 10 => {
            u64::from(!left.is_empty() && !right.is_empty())
        }
        _ => left.cost_size().min(right.cost_size()).div_ceil(10),
    }
}
