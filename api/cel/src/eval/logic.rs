//! Equality, order, and the choices of optionals.

use std::cmp::Ordering;

use super::scalar::{self, Scalar};
use super::truth::Truth;
use super::{Context, EvalError, Evaluated, evaluate};
use crate::plan::node::{Node, Relation, RelationOperator};
use crate::value::Value;

/// Both operands of an operator; constants are not copied.
pub(super) struct Operands<'a> {
    left: Operand<'a>,
    right: Operand<'a>,
}

enum Operand<'a> {
    Constant(&'a Value<'a>),
    Value(Value<'a>),
    Failed(EvalError),
}

impl<'a> Operand<'a> {
    /// Evaluates an operand; a final error ends all.
    #[inline]
    fn of(node: &'a Node, context: &mut Context<'a>) -> Result<Self, EvalError> {
        if let Node::Constant(value) = node {
            return Ok(Self::Constant(value));
        }
        match evaluate(node, context) {
            Ok(value) => Ok(Self::Value(value)),
            Err(error) if error.is_final() => Err(error),
            Err(error) => Ok(Self::Failed(error)),
        }
    }

    /// The value; what has failed has the size of a scalar.
    #[inline]
    fn value(&self) -> &Value<'a> {
        match self {
            Self::Constant(value) => value,
            Self::Value(value) => value,
            Self::Failed(_) => &Value::Null,
        }
    }

    fn failure(&self) -> Option<&EvalError> {
        match self {
            Self::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl<'a> Operands<'a> {
    /// The left value; `null` when it has failed.
    pub(super) fn left(&self) -> &Value<'a> {
        self.left.value()
    }

    /// The right value; `null` when it has failed.
    pub(super) fn right(&self) -> &Value<'a> {
        self.right.value()
    }

    /// Why an operand has failed; the left one's reason counts.
    #[inline]
    pub(super) fn failure(&self) -> Option<&EvalError> {
        self.left.failure().or_else(|| self.right.failure())
    }
}

/// Both operands, the second also when the first has failed.
#[inline]
pub(super) fn operands<'a>(
    [left, right]: &'a [Node; 2],
    context: &mut Context<'a>,
) -> Result<Operands<'a>, EvalError> {
    let left = Operand::of(left, context)?;
    let right = Operand::of(right, context)?;
    Ok(Operands { left, right })
}

pub(super) fn equal<'a>(nodes: &'a [Node; 2], negated: bool, context: &mut Context<'a>) -> Truth {
    if let Some((left, right, read)) = scalar::pair(nodes, context) {
        let cost = read + scalar::cost_of_comparing(left, right);
        if context.affords(cost) {
            context.charge_path(cost);
            return ((left == right) != negated).into();
        }
    }
    let operands = match operands(nodes, context) {
        Ok(operands) => operands,
        Err(error) => return context.fail(error),
    };
    let cost = cost_of_comparing(operands.left(), operands.right());
    let truth = match operands.failure() {
        Some(error) => context.fail(error.clone()),
        None => match operands.left().equals_within(operands.right(), context.steps()) {
            Ok(equal) => (equal != negated).into(),
            // A comparison that fails counts as unequal.
            Err(error) if negated && !error.is_final() => Truth::True,
            Err(error) => context.fail(error),
        },
    };
    context.charged(cost, truth)
}

pub(super) fn relation<'a>(relation: &'a Relation, context: &mut Context<'a>) -> Truth {
    if let Some((Scalar::Int(left), Scalar::Int(right), read)) =
        scalar::pair(&relation.operands, context)
        && context.affords(read + 1)
    {
        context.charge_path(read + 1);
        return relation.operator.holds(left.cmp(&right)).into();
    }
    let operands = match operands(&relation.operands, context) {
        Ok(operands) => operands,
        Err(error) => return context.fail(error),
    };
    let (left, right) = (operands.left(), operands.right());
    let cost = if relation.sized { cost_of_comparing(left, right) } else { 1 };
    let truth = match operands.failure() {
        Some(error) => context.fail(error.clone()),
        None => match related(relation.operator, left, right) {
            Ok(holds) => holds.into(),
            Err(error) => context.fail(error),
        },
    };
    context.charged(cost, truth)
}

#[inline]
fn related(
    operator: RelationOperator,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Result<bool, EvalError> {
    let ordering = match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        _ if left.is_ordered() => left.order(right)?,
        _ => return Err(EvalError::no_operator(left, operator.name())),
    };
    Ok(operator.holds(ordering))
}

impl RelationOperator {
    const fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessEquals => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterEquals => ordering.is_ge(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Less => "_<_",
            Self::LessEquals => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterEquals => "_>=_",
        }
    }
}

/// `or` and, when `value`, `orValue`: costs only what is evaluated.
pub(super) fn optional_or<'a>(
    [left, right]: &'a [Node; 2],
    value: bool,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    match evaluate(left, context)? {
        Value::Optional(None) => evaluate(right, context),
        Value::Optional(Some(held)) if value => match &*held {
            Value::Error(error) => Err((**error).clone()),
            held => Ok(held.clone()),
        },
        // What is no optional stays as it is.
        left => Ok(left),
    }
}

/// A tenth of the smaller size; what has failed, or has no size, counts 1.
#[inline]
fn cost_of_comparing(left: &Value<'_>, right: &Value<'_>) -> u64 {
    match (left, right) {
        // Text of at most ten bytes has at most ten code points.
        (Value::String(left), Value::String(right)) if left.len().min(right.len()) <= 10 => {
            u64::from(!left.is_empty() && !right.is_empty())
        }
        _ => left.cost_size().min(right.cost_size()).div_ceil(10),
    }
}
