//! Conditions, evaluated without making values of them.

use super::scalar::{self, Peeked, Scalar};
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
    if let Some(Peeked { scalar: Scalar::Text(text), cost }) =
        scalar::peek(&membership.item, context)
        && context.affords(cost)
    {
        context.charge_path(cost);
        return membership.contains_text(text).into();
    }
    let found = match evaluate(&membership.item, context) {
        Ok(Value::String(text)) => membership.contains_text(&text),
        Ok(item) => membership.contains_other(&item),
        Err(error) => return context.fail(error),
    };
    found.into()
}

impl Membership {
    fn contains_text(&self, text: &str) -> bool {
        if self.texts.len() <= LISTED_TEXTS {
            return self.texts.iter().any(|known| **known == *text);
        }
        self.texts.binary_search_by(|known| (**known).cmp(text)).is_ok()
    }
}

/// So many texts are compared one by one.
const LISTED_TEXTS: usize = 12;

/// `contains`, `startsWith`, `endsWith`.
fn text_test<'a>(test: &'a TextTest, context: &mut Context<'a>) -> Truth {
    if let Some((Scalar::Text(text), Scalar::Text(part), read)) =
        scalar::pair(&test.operands, context)
    {
        let cost = read
            + test.kind.cost(Scalar::Text(text).cost_size(), || Scalar::Text(part).cost_size());
        if context.affords(cost) {
            context.charge_path(cost);
            return test.kind.holds(text, part).into();
        }
    }
    let operands = logic::operands(&test.operands, context);
    let (left, right) = match &operands {
        Ok(operands) => (operands.left(), operands.right()),
        Err(error) => return context.fail(error.clone()),
    };
    let cost = test.kind.cost(left.cost_size(), || right.cost_size());
    let failed = operands.as_ref().ok().and_then(|operands| operands.failure());
    let truth = match (failed, left, right) {
        (Some(error), _, _) => context.fail(error.clone()),
        (None, Value::String(text), Value::String(part)) => test.kind.holds(text, part).into(),
        _ => context.fail(EvalError::no_such_overload()),
    };
    context.charged(cost, truth)
}

impl TextTestKind {
    fn holds(self, text: &str, part: &str) -> bool {
        match self {
            Self::Contains => match part.as_bytes() {
                [byte] => memchr::memchr(*byte, text.as_bytes()).is_some(),
                _ => text.contains(part),
            },
            Self::StartsWith => text.starts_with(part),
            Self::EndsWith => text.ends_with(part),
        }
    }

    /// A tenth of the text's size; for `contains` times a tenth of the part's.
    fn cost(self, text: u64, part: impl FnOnce() -> u64) -> u64 {
        match self {
            Self::Contains => text.div_ceil(10).saturating_mul(part().div_ceil(10)),
            Self::StartsWith | Self::EndsWith => text.div_ceil(10),
        }
    }
}
