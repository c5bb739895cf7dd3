//! Conditions, evaluated without making values of them.

use super::{Context, EvalError, attribute, evaluate, logic};
use crate::plan::node::{Membership, Node, TextTest, TextTestKind};
use crate::value::Value;

/// What a condition is; why it has failed lies in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    False,
    True,
    Failed,
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// Evaluates a condition.
pub(super) fn decide<'a>(node: &'a Node, context: &mut Context<'a>) -> Truth {
    match node {
        Node::And(operands) => both(operands, Truth::False, context),
        Node::Or(operands) => both(operands, Truth::True, context),
        Node::Not(operand) => {
            let truth = decide(operand, context);
            let truth = match truth {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Failed => Truth::Failed,
            };
            context.charged(1, truth)
        }
        Node::NotStrictlyFalse(operand) => {
            let truth = decide(operand, context);
            if truth == Truth::Failed && context.has_final_failure() {
                return truth;
            }
            context.charged(1, Truth::from(truth != Truth::False))
        }
        Node::Test(attribute) => attribute::test(attribute, context),
        Node::Equal { operands, negated } => logic::equal(operands, *negated, context),
        Node::Relation(relation) => logic::relation(relation, context),
        Node::TextTest(test) => text_test(test, context),
        Node::Membership(membership) => contains(membership, context),
        other => match evaluate(other, context) {
            Ok(Value::Bool(value)) => value.into(),
            Ok(_) => context.fail(EvalError::no_such_overload()),
            Err(error) => context.fail(error),
        },
    }
}

/// `&&` and `||`: decided by either side that is `by`, whatever the other; failed only when neither is. The left failure
/// counts.
fn both<'a>([left, right]: &'a [Node; 2], by: Truth, context: &mut Context<'a>) -> Truth {
    let first = decide(left, context);
    if first == by {
        return by;
    }
    if first != Truth::Failed {
        return decide(right, context);
    }
    if context.has_final_failure() {
        return Truth::Failed;
    }
    let failure = context.failure();
    match decide(right, context) {
        second if second == by => by,
        Truth::Failed if context.has_final_failure() => Truth::Failed,
        _ => context.fail(failure),
    }
}

fn contains<'a>(membership: &'a Membership, context: &mut Context<'a>) -> Truth {
    let found = match evaluate(&membership.item, context) {
        Ok(Value::String(text)) => {
            let texts = &membership.texts;
            if texts.len() <= LISTED_TEXTS {
                texts.iter().any(|known| **known == *text)
            } else {
                texts.binary_search_by(|known| (**known).cmp(&text)).is_ok()
            }
        }
        Ok(item) => membership.contains_other(&item),
        Err(error) => return context.fail(error),
    };
    found.into()
}

/// So many texts are compared one by one.
const LISTED_TEXTS: usize = 12;

/// `contains`, `startsWith`, `endsWith`.
fn text_test<'a>(test: &'a TextTest, context: &mut Context<'a>) -> Truth {
    let operands = logic::operands(&test.operands, context);
    let (left, right) = match &operands {
        Ok(operands) => (operands.left(), operands.right()),
        Err(error) => return context.fail(error.clone()),
    };
    let tenth = |value: &Value<'_>| value.cost_size().div_ceil(10);
    let cost = match test.kind {
        TextTestKind::Contains => tenth(left).saturating_mul(tenth(right)),
        TextTestKind::StartsWith | TextTestKind::EndsWith => tenth(left),
    };
    let failed = operands.as_ref().ok().and_then(|operands| operands.failure());
    let truth = match (failed, left, right) {
        (Some(error), _, _) => context.fail(error.clone()),
        (None, Value::String(text), Value::String(part)) => match test.kind {
            TextTestKind::Contains => text.contains(&**part),
            TextTestKind::StartsWith => text.starts_with(&**part),
            TextTestKind::EndsWith => text.ends_with(&**part),
        }
        .into(),
        _ => context.fail(EvalError::no_such_overload()),
    };
    context.charged(cost, truth)
}
