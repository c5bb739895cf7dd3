//! Calls of functions.

use std::sync::Arc;

use smallvec::SmallVec;

use super::logic::both;
use super::{Context, EvalError, Evaluated, evaluate};
use crate::library::{insert_all, insert_entry, standard};
use crate::overload::{Cost, Dispatch, Overload};
use crate::plan::node::{Add, Call, Member, Membership, Target};
use crate::value::Value;

/// So many arguments are kept without an allocation.
type Arguments<'a> = SmallVec<[Value<'a>; 3]>;

pub(super) fn add<'a>(add: &'a Add, context: &mut Context<'a>) -> Evaluated<'a> {
    let (left, right) = both(&add.operands, context)?;
    let size = |operand: &Evaluated<'a>| operand.as_ref().map_or(1, Value::cost_size);
    let cost = if add.sized { size(&left).saturating_add(size(&right)).div_ceil(10) } else { 1 };
    let sum = match (left, right) {
        (Ok(left), Ok(right)) => standard::add(left, &right),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    context.charge(cost)?;
    sum
}

pub(super) fn membership<'a>(membership: &'a Membership, context: &mut Context<'a>) -> Evaluated<'a> {
    let item = evaluate(&membership.item, context)?;
    Ok(Value::Bool(Member::of(&item).is_some_and(|member| membership.members.contains(&member))))
}

pub(super) fn call<'a>(call: &'a Call, context: &mut Context<'a>) -> Evaluated<'a> {
    // A call of one or two arguments evaluates both and costs even when they fail; others stop at the first that fails, and
    // cost when it is the last.
    let stops = call.arguments.len() > 2 || call.prepared.is_some();
    let mut arguments = Arguments::new();
    let mut failed = None;
    for (at, argument) in call.arguments.iter().enumerate() {
        match evaluate(argument, context) {
            Ok(value) => arguments.push(value),
            Err(error) if error.is_final() => return Err(error),
            Err(error) => {
                if stops && at + 1 < call.arguments.len() {
                    return Err(error);
                }
                failed = failed.or(Some(error));
                arguments.push(Value::Null);
            }
        }
    }
    if let Some(error) = failed {
        context.charge(cost(&call.target, None, &arguments, None))?;
        return Err(error);
    }
    let taken = matches!(call.target, Target::One(ref one) if one.function == "cel.@mapInsert");
    let overload = found(&call.target, &arguments);
    let result = match (&call.prepared, overload) {
        (Some(prepared), _) => prepared.call(&arguments),
        (None, Some(_)) if taken => return insert(call, arguments, context),
        (None, Some(overload)) => (overload.call)(&arguments),
        (_, None) => Err(no_such_overload(&call.target, &arguments)),
    };
    if let Err(error) = &result
        && error.is_final()
    {
        return result;
    }
    context.charge(cost(&call.target, overload, &arguments, result.as_ref().ok()))?;
    result
}

/// Insertion into a map, which grows in place when nothing else holds it.
fn insert<'a>(call: &'a Call, arguments: Arguments<'a>, context: &mut Context<'a>) -> Evaluated<'a> {
    let cost = cost(&call.target, None, &arguments, None);
    let mut arguments = arguments.into_iter();
    let result = match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(Value::Map(target)), Some(Value::Map(added)), None) => insert_all(target, &added),
        (Some(Value::Map(target)), Some(key), Some(value)) => insert_entry(target, key, value),
        _ => Err(EvalError::no_such_overload()),
    };
    context.charge(cost)?;
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
fn cost(target: &Target, found: Option<&Arc<Overload>>, arguments: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
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
                && self.parameters.iter().zip(arguments).all(|(parameter, argument)| argument.is_of(parameter)))
    }
}
