//! What a client is told of a rule that does not hold.

use std::borrow::Cow;

use quorate_cel::eval::{Activation, EvalError};
use quorate_cel::program::{Budget, Limits, Program};
use quorate_cel::value::Value as CelValue;
use quorate_meta::{Cause, Path, Value};
use quorate_schema::structural::Rule;

/// Bytes of a computed message, at most.
const MAX_MESSAGE_BYTES: usize = 5_120;

/// The message of a rule; its expression without one.
pub(super) fn of_rule(rule: &Rule) -> Cow<'_, str> {
    match rule.message.trim() {
        "" => format!("failed rule: {}", rule.rule.trim()).into(),
        message => message.into(),
    }
}

/// How errors name a rule.
pub(super) fn name(rule: &Rule) -> &str {
    match rule.message.trim() {
        "" => rule.rule.trim(),
        message => message,
    }
}

/// What the evaluation of a message came to.
#[derive(Debug)]
pub(super) enum Computed {
    Text(String),
    /// It failed or is of no use: the fixed message stands in.
    Unusable,
    /// It cost too much; no further rule runs.
    Exhausted(String),
}

/// Evaluates the expression of a message.
pub(super) fn compute(
    program: &Program,
    source: &str,
    activation: &Activation<'_>,
    budget: &mut Budget,
) -> Computed {
    let evaluation = program.evaluate_within(activation, Limits::default());
    if !budget.spend(evaluation.cost) {
        return Computed::Exhausted(
            "messageExpression evaluation failed due to running out of cost budget".to_owned(),
        );
    }
    match evaluation.result {
        Err(EvalError::CostLimit) => Computed::Exhausted(format!(
            "no further validation rules will be run due to call cost exceeds limit for messageExpression: {source}"
        )),
        Ok(CelValue::String(text)) => usable(&text).map_or(Computed::Unusable, Computed::Text),
        _ => Computed::Unusable,
    }
}

/// A message of one line that says something.
fn usable(text: &str) -> Option<String> {
    let text = text.trim();
    let is_usable =
        !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains(['\n', '\r']);
    is_usable.then(|| text.to_owned())
}

/// The failure of a rule about `value` at a field.
pub(super) fn failure(rule: &Rule, field: Path, value: &Value, detail: &str) -> Cause {
    let is_shown = !matches!(value, Value::Map(_) | Value::List(_));
    match rule.reason.as_str() {
        "FieldValueForbidden" => Cause::forbidden(field, detail),
        "FieldValueRequired" => Cause::required(field, detail),
        "FieldValueDuplicate" if is_shown => Cause::duplicate(field, value.clone()),
        "FieldValueDuplicate" => {
            Cause::new(quorate_meta::CauseReason::FieldValueDuplicate, field, "Duplicate value")
        }
        _ if is_shown => Cause::invalid(field, value.clone(), detail),
        _ => Cause::new(
            quorate_meta::CauseReason::FieldValueInvalid,
            field,
            format!("Invalid value: {detail}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::CauseReason;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_computed_message_is_one_line_that_says_something() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(usable(text).as_deref(), expect, "{text:?}");
        };
        check("  b is 3 ", Some("b is 3"));
        check("\nb\n", Some("b"));
        check("a\nb", None);
        check("a\rb", None);
        check(" \t", None);
        check(&"x".repeat(MAX_MESSAGE_BYTES), Some(&"x".repeat(MAX_MESSAGE_BYTES)));
        check(&"x".repeat(MAX_MESSAGE_BYTES + 1), None);
    }

    #[test]
    fn rules_are_named_by_their_message() {
        let check = |message: &str, told: &str, named: &str| {
            let rule = Rule {
                rule: " self > 1 ".to_owned(),
                message: message.to_owned(),
                ..Rule::default()
            };
            assert_eq!((of_rule(&rule).as_ref(), name(&rule)), (told, named));
        };
        check("", "failed rule: self > 1", "self > 1");
        check(" too small ", "too small", "too small");
    }

    #[test]
    fn failures_have_the_reason_of_the_rule() {
        let check = |reason: &str, value: serde_json::Value, expect: (CauseReason, &str)| {
            let rule = Rule { reason: reason.to_owned(), ..Rule::default() };
            let cause = failure(&rule, Path::new("spec"), &value.into(), "no");
            assert_eq!((cause.reason, cause.message.as_str()), expect);
        };
        check("", json!({}), (CauseReason::FieldValueInvalid, "Invalid value: no"));
        check("", json!([1]), (CauseReason::FieldValueInvalid, "Invalid value: no"));
        check("", json!(3), (CauseReason::FieldValueInvalid, "Invalid value: 3: no"));
        check(
            "FieldValueInvalid",
            json!("a"),
            (CauseReason::FieldValueInvalid, "Invalid value: \"a\": no"),
        );
        check("FieldValueForbidden", json!(3), (CauseReason::FieldValueForbidden, "Forbidden: no"));
        check(
            "FieldValueRequired",
            json!(3),
            (CauseReason::FieldValueRequired, "Required value: no"),
        );
        check(
            "FieldValueDuplicate",
            json!(3),
            (CauseReason::FieldValueDuplicate, "Duplicate value: 3"),
        );
        check(
            "FieldValueDuplicate",
            json!({}),
            (CauseReason::FieldValueDuplicate, "Duplicate value"),
        );
    }
}
