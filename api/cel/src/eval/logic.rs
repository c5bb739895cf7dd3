//! Logic, equality, order, and the choices of optionals.

use std::cmp::Ordering;

use super::{Context, EvalError, Evaluated, evaluate};
use crate::plan::node::{Node, Relation, RelationOperator};
use crate::value::Value;

/// `&&`: false when either side is, whatever the other; an error only when neither is.
pub(super) fn and<'a>(operands: &'a [Node; 2], context: &mut Context<'a>) -> Evaluated<'a> {
    decided(operands, false, context)
}

/// `||`: true when either side is, whatever the other; an error only when neither is.
pub(super) fn or<'a>(operands: &'a [Node; 2], context: &mut Context<'a>) -> Evaluated<'a> {
    decided(operands, true, context)
}

fn decided<'a>([left, right]: &'a [Node; 2], by: bool, context: &mut Context<'a>) -> Evaluated<'a> {
    let left = truth(evaluate(left, context));
    match left {
        Ok(value) if value == by => return Ok(Value::Bool(by)),
        Err(error) if error.is_final() => return Err(error),
        _ => {}
    }
    let right = truth(evaluate(right, context));
    match (left, right) {
        (_, Ok(value)) if value == by => Ok(Value::Bool(by)),
        (_, Err(error)) if error.is_final() => Err(error),
        (Err(error), _) | (_, Err(error)) => Err(error),
        (Ok(_), Ok(_)) => Ok(Value::Bool(!by)),
    }
}

/// The boolean that an operand of logic is.
pub(super) fn truth(result: Evaluated<'_>) -> Result<bool, EvalError> {
    match result? {
        Value::Bool(value) => Ok(value),
        _ => Err(EvalError::no_such_overload()),
    }
}

pub(super) fn not<'a>(operand: &'a Node, context: &mut Context<'a>) -> Evaluated<'a> {
    let value = truth(evaluate(operand, context));
    finish(value.map(|value| !value), 1, context)
}

pub(super) fn not_strictly_false<'a>(operand: &'a Node, context: &mut Context<'a>) -> Evaluated<'a> {
    let value = match evaluate(operand, context) {
        Err(error) if error.is_final() => return Err(error),
        Ok(Value::Bool(value)) => value,
        _ => true,
    };
    finish(Ok(value), 1, context)
}

pub(super) fn equal<'a>(operands: &'a [Node; 2], negated: bool, context: &mut Context<'a>) -> Evaluated<'a> {
    let (left, right) = both(operands, context)?;
    let cost = cost_of_comparing(&left, &right);
    let equal = match (left, right) {
        (Ok(left), Ok(right)) if negated => Ok(!left.equals(&right).unwrap_or(false)),
        (Ok(left), Ok(right)) => left.equals(&right),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    finish(equal, cost, context)
}

pub(super) fn relation<'a>(relation: &'a Relation, context: &mut Context<'a>) -> Evaluated<'a> {
    let (left, right) = both(&relation.operands, context)?;
    let cost = if relation.sized { cost_of_comparing(&left, &right) } else { 1 };
    let holds = match (left, right) {
        (Ok(left), Ok(right)) => related(relation.operator, &left, &right),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    finish(holds, cost, context)
}

fn related(operator: RelationOperator, left: &Value<'_>, right: &Value<'_>) -> Result<bool, EvalError> {
    let (name, holds): (&str, fn(Ordering) -> bool) = match operator {
        RelationOperator::Less => ("_<_", Ordering::is_lt),
        RelationOperator::LessEquals => ("_<=_", Ordering::is_le),
        RelationOperator::Greater => ("_>_", Ordering::is_gt),
        RelationOperator::GreaterEquals => ("_>=_", Ordering::is_ge),
    };
    if !left.is_ordered() {
        return Err(EvalError::new(format!("no such overload: {name}")));
    }
    left.order(right).map(holds)
}

/// `or` and, when `value`, `orValue`: costs only what is evaluated.
pub(super) fn optional_or<'a>([left, right]: &'a [Node; 2], value: bool, context: &mut Context<'a>) -> Evaluated<'a> {
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

type Operands<'a> = (Evaluated<'a>, Evaluated<'a>);

/// Both operands, the second also when the first has failed.
pub(super) fn both<'a>([left, right]: &'a [Node; 2], context: &mut Context<'a>) -> Result<Operands<'a>, EvalError> {
    let left = evaluate(left, context);
    if let Err(error) = &left
        && error.is_final()
    {
        return Err(error.clone());
    }
    let right = evaluate(right, context);
    match right {
        Err(error) if error.is_final() => Err(error),
        right => Ok((left, right)),
    }
}

/// A tenth of the smaller size; what has failed, or has no size, counts 1.
fn cost_of_comparing(left: &Evaluated<'_>, right: &Evaluated<'_>) -> u64 {
    let size = |operand: &Evaluated<'_>| operand.as_ref().map_or(1, Value::cost_size);
    size(left).min(size(right)).div_ceil(10)
}

/// Counts the cost of an operator and gives its result.
fn finish<'a>(result: Result<bool, EvalError>, cost: u64, context: &mut Context<'a>) -> Evaluated<'a> {
    match result {
        Err(error) if error.is_final() => Err(error),
        result => {
            context.charge(cost)?;
            result.map(Value::Bool)
        }
    }
}
