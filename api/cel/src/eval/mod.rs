//! Evaluation of planned nodes against an activation, within a budget.
//!
//! Invariants: cost is counted as the reference engine counts it, and looked at whenever it grows; a final error ends the
//! evaluation at once. Not here: what functions do, which limits a caller sets.

mod attribute;
mod call;
mod construct;
mod context;
mod error;
mod fold;
mod lazy;
mod logic;
mod message;
mod scalar;
mod truth;

use crate::environment::Environment;
use crate::plan::node::Node;
use crate::value::Value;

#[cfg(test)]
mod tests;

pub(crate) use attribute::invalid_qualifier;
pub use context::Activation;
pub(crate) use context::Context;
pub use error::EvalError;
pub use lazy::{LazyVariable, LazyVariables, NESTING_MAX};

/// Result of a node.
pub(crate) type Evaluated<'a> = Result<Value<'a>, EvalError>;

/// Evaluates a node.
pub(crate) fn evaluate<'a>(node: &'a Node, context: &mut Context<'a>) -> Evaluated<'a> {
    match node {
        Node::Constant(value) => Ok(value.lent()),
        Node::Attribute(attribute) => attribute::read(attribute, context),
        Node::Test(_)
        | Node::And(_)
        | Node::Or(_)
        | Node::Not(_)
        | Node::NotStrictlyFalse(_)
        | Node::Equal { .. }
        | Node::Relation(_)
        | Node::TextTest(_)
        | Node::Membership(_) => {
            let truth = truth::decide(node, context);
            context.outcome(truth)
        }
        Node::Add(add) => call::add(add, context),
        Node::Arithmetic(arithmetic) => call::arithmetic(arithmetic, context),
        Node::Size(operand) => call::size(operand, context),
        Node::Call(call) => call::call(call, context),
        Node::OptionalOr(operands) => logic::optional_or(operands, false, context),
        Node::OptionalOrValue(operands) => logic::optional_or(operands, true, context),
        Node::List(list) => construct::list(list, context),
        Node::Map(entries) => construct::map(entries, context),
        Node::Message(message) => message::message(message, context),
        Node::Fold(fold) => fold::fold(fold, context),
    }
}

/// The value of a node that reads no variable, while planning.
pub(crate) fn constant(node: &Node) -> Result<Value<'static>, EvalError> {
    let activation = Activation::without_variables();
    let mut context = Context::new(&activation, 0, u64::MAX, None);
    evaluate(node, &mut context).map(|value| value.into_owned())
}

impl Activation<'_> {
    /// For an expression without variables.
    fn without_variables() -> Self {
        Self::of_slots(Vec::new())
    }
}

impl<'a> Activation<'a> {
    /// For an expression of `environment`, nothing bound.
    pub fn new(environment: &'a Environment) -> Self {
        Self::of_slots(
            environment.variables().iter().map(|variable| (&*variable.name, None)).collect(),
        )
    }
}
