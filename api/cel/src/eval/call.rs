//! Calls of functions.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Context, EvalError, Evaluated, evaluate, logic};
use crate::library::{insert_all, insert_entry, standard};
use crate::overload::{Cost, Dispatch, Overload};
use crate::plan::node::{Add, Arithmetic, ArithmeticOperator, CallNode, Node, Target};
use crate::value::Value;

/// So many arguments are kept without an allocation.
type Arguments<'a> = SmallVec<[Value<'a>; 3]>;

pub(super) fn add<'a>(add: &'a Add, context: &mut Context<'a>) -> Evaluated<'a> {
    let [left, right] = &add.operands;
    let left = settled(left, context)?;
    let right = settled(right, context)?;
    let size = |operand: &Evaluated<'a>| operand.as_ref().map_or(1, Value::cost_size);
    let cost = if add.sized { size(&left).saturating_add(size(&right)).div_ceil(10) } else { 1 };
    let sum = match (left, right) {
        (Ok(left), Ok(right)) => {
            context.work(copied(&left, &right)?)?;
            standard::add(left, &right)
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    context.charge(cost)?;
    sum
}

pub(super) fn arithmetic<'a>(
    arithmetic: &'a Arithmetic,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    let operands = logic::operands(&arithmetic.operands, context)?;
    let result = match operands.failure() {
        Some(error) => Err(error.clone()),
        None => {
            let (left, right) = (operands.left(), operands.right());
            match arithmetic.operator {
                ArithmeticOperator::Subtract => standard::subtract(left, right),
                ArithmeticOperator::Multiply => standard::multiply(left, right),
                ArithmeticOperator::Divide => standard::divide(left, right),
                ArithmeticOperator::Modulo => standard::modulo(left, right),
            }
        }
    };
    context.charge(1)?;
    result
}

pub(super) fn size<'a>(operand: &'a Node, context: &mut Context<'a>) -> Evaluated<'a> {
    let size = settled(operand, context)?.and_then(|value| standard::size(&value));
    context.charge(1)?;
    size
}

/// An element or so many bytes of text count as one step.
const BYTES_PER_STEP: usize = 32;
/// A list has at most so many elements: more than any evaluation can afford to go through.
const ELEMENTS_MAX: usize = 1_000_000;

/// Steps that it takes to copy both sides of a sum.
fn copied(left: &Value<'_>, right: &Value<'_>) -> Result<u64, EvalError> {
    let steps = match (left, right) {
        (Value::List(left), Value::List(right)) if left.len() + right.len() > ELEMENTS_MAX => {
            return Err(EvalError::CostLimit);
        }
        (Value::List(left), Value::List(right)) => {
            right.len() + if left.grows_in_place() { 0 } else { left.len() }
        }
        (Value::String(left), Value::String(right)) => (left.len() + right.len()) / BYTES_PER_STEP,
        (Value::Bytes(left), Value::Bytes(right)) => (left.len() + right.len()) / BYTES_PER_STEP,
        _ => 0,
    };
    Ok(steps as u64)
}

/// An operand, or why it has failed; a final error goes on.
fn settled<'a>(node: &'a Node, context: &mut Context<'a>) -> Result<Evaluated<'a>, EvalError> {
    match evaluate(node, context) {
        Err(error) if error.is_final() => Err(error),
        operand => Ok(operand),
    }
}

/// A call of one or two arguments evaluates both and costs also when they fail; any other stops at the first that fails, and
/// costs then only when it is the last.
pub(super) fn call<'a>(call: &'a CallNode, context: &mut Context<'a>) -> Evaluated<'a> {
    match (&call.arguments[..], &call.prepared) {
        ([argument], None) => {
            let argument = settled(argument, context)?;
            match argument {
                Ok(argument) => apply(call, &[argument], context),
                Err(error) => fail(call, &[Value::Null], error, context),
            }
        }
        ([left, right], None) => {
            let (left, right) = (settled(left, context)?, settled(right, context)?);
            match (left, right) {
                (Ok(left), Ok(right)) => match (left, right, is_insertion(call)) {
                    (Value::Map(target), Value::Map(added), true) => {
                        insert(insert_all(target, &added), context)
                    }
                    (left, right, _) => apply(call, &[left, right], context),
                },
                (Err(error), right) => {
                    fail(call, &[Value::Null, right.unwrap_or(Value::Null)], error, context)
                }
                (Ok(left), Err(error)) => fail(call, &[left, Value::Null], error, context),
            }
        }
        (arguments, _) => many(call, arguments, context),
    }
}

fn many<'a>(call: &'a CallNode, nodes: &'a [Node], context: &mut Context<'a>) -> Evaluated<'a> {
    let mut arguments = Arguments::new();
    for (at, node) in nodes.iter().enumerate() {
        match evaluate(node, context) {
            Ok(value) => arguments.push(value),
            Err(error) if error.is_final() || at + 1 < nodes.len() => return Err(error),
            Err(error) => {
                arguments.push(Value::Null);
                return fail(call, &arguments, error, context);
            }
        }
    }
    if is_insertion(call) {
        let mut arguments = arguments.into_iter();
        if let (Some(Value::Map(target)), Some(key), Some(value)) =
            (arguments.next(), arguments.next(), arguments.next())
        {
            return insert(insert_entry(target, key, value), context);
        }
        return Err(EvalError::no_such_overload());
    }
    apply(call, &arguments, context)
}

/// The error of an argument, for which the call costs as well.
fn fail<'a>(
    call: &'a CallNode,
    arguments: &[Value<'a>],
    error: EvalError,
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    context.charge(cost(&call.target, None, arguments, None))?;
    Err(error)
}

/// A cost above this is not that of a result, so that it is known before the call.
const COST_KNOWN_AHEAD: u64 = 1_000;

fn elements(value: &Value<'_>) -> u64 {
    match value {
        Value::List(list) => list.len() as u64,
        _ => 0,
    }
}

/// Calls the overload that takes the arguments; what was prepared while planning takes any.
fn apply<'a>(
    call: &'a CallNode,
    arguments: &[Value<'a>],
    context: &mut Context<'a>,
) -> Evaluated<'a> {
    let overload = found(&call.target, arguments);
    let elements: u64 = arguments.iter().map(elements).sum();
    if elements > 0 {
        let ahead = cost(&call.target, overload, arguments, None);
        if ahead > COST_KNOWN_AHEAD && !context.affords(ahead) {
            // What will exceed the limit is not begun.
            context.charge(ahead)?;
        }
        context.work(elements)?;
    }
    let result = match (&call.prepared, overload) {
        (Some(prepared), _) => prepared.call(arguments),
        (None, Some(overload)) => (overload.call)(arguments),
        (None, None) => Err(no_such_overload(&call.target, arguments)),
    };
    if let Err(error) = &result
        && error.is_final()
    {
        return result;
    }
    context.charge(cost(&call.target, overload, arguments, result.as_ref().ok()))?;
    result
}

/// Whether the call adds to a map, which grows in place when nothing else holds it.
fn is_insertion(call: &CallNode) -> bool {
    matches!(&call.target, Target::One(one) if one.function == "cel.@mapInsert")
}

fn insert<'a>(result: Evaluated<'a>, context: &mut Context<'a>) -> Evaluated<'a> {
    context.charge(1)?;
    result
}

/// The overload that takes the arguments.
fn found<'a>(target: &'a Target, arguments: &[Value<'_>]) -> Option<&'a Arc<Overload>> {
    match target {
        Target::One(overload) => overload.takes(arguments).then_some(overload),
        Target::Any(overloads) => overloads.iter().find(|overload| overload.takes(arguments)),
    }
}

fn no_such_overload(target: &Target, arguments: &[Value<'_>]) -> EvalError {
    let function = match target {
        Target::One(overload) => overload.function,
        Target::Any(overloads) => overloads.first().map_or("", |overload| overload.function),
    };
    let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
    EvalError::new(format!("no such overload: {function}({})", types.join(", ")))
}

/// Cost of a call; of a function whose overload is not known before, only what belongs to its name.
fn cost(
    target: &Target,
    found: Option<&Arc<Overload>>,
    arguments: &[Value<'_>],
    result: Option<&Value<'_>>,
) -> u64 {
    let (overload, chosen) = match target {
        Target::One(overload) => (Some(overload), true),
        Target::Any(overloads) => (found.or_else(|| overloads.first()), false),
    };
    match overload.map_or(Cost::Fixed(1), |overload| overload.cost) {
        Cost::Fixed(cost) => cost,
        Cost::Static(_) if !chosen => 1,
        Cost::Static(of) | Cost::Always(of) => of(arguments, result),
        Cost::ByOverload { chosen: of, .. } if chosen => of(arguments, result),
        Cost::ByOverload { dispatched, .. } => dispatched(arguments, result),
    }
}

impl Overload {
    /// Whether it takes these arguments; an overload that shares its implementation decides that itself.
    fn takes(&self, arguments: &[Value<'_>]) -> bool {
        self.dispatch == Dispatch::Singleton
            || (self.parameters.len() == arguments.len()
                && self
                    .parameters
                    .iter()
                    .zip(arguments)
                    .all(|(parameter, argument)| argument.is_of(parameter)))
    }
}
