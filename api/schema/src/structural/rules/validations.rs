//! The form of rules in CEL: texts that must be there or on one line, the reason, the path of the field that the answer names.
//!
//! Not here: the expressions themselves.

use quorate_meta::{Cause, Value};

use crate::structural::field_path;
use crate::structural::limits::Told;
use crate::structural::place::Place;
use crate::structural::source::Source;

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const BLANK: &str = "must be non-empty if specified";
const BROKEN: &str = "must not contain line breaks";

/// Checks the rules of one schema.
pub(super) fn check(schema: Source<'_>, place: &Place<'_>, told: &mut Told) {
    let all = place.child(&schema.words.validations);
    for (index, rule) in schema.list(&schema.words.validations).iter().enumerate() {
        let place = all.index(index);
        texts(rule, &place, told);
        if let Some(reason) = rule.get("reason").and_then(Value::as_str)
            && !REASONS.contains(&reason)
        {
            told.push(|| Cause::not_supported(place.child("reason").text(), reason, &REASONS));
        }
        field(schema, rule, &place, told);
    }
}

fn text<'v>(rule: &'v Value, field: &str) -> &'v str {
    rule.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn has_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.trim().is_empty()
}

fn texts(rule: &Value, place: &Place<'_>, told: &mut Told) {
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    let message_place = place.child("message");
    if expression.is_empty() {
        told.push(|| Cause::required(place.child("rule").text(), "rule is not specified"));
    } else if is_blank(message) {
        told.push(|| Cause::invalid(message_place.text(), message, BLANK));
    } else if has_break(message.trim()) {
        told.push(|| Cause::invalid(message_place.text(), message, BROKEN));
    } else if has_break(expression) && message.is_empty() {
        let why = "must be specified if rule contains line breaks";
        told.push(|| Cause::required(message_place.text(), why));
    }
    if is_blank(text(rule, "messageExpression")) {
        told.push(|| Cause::required(place.child("messageExpression").text(), BLANK));
    }
}

fn field(schema: Source<'_>, rule: &Value, place: &Place<'_>, told: &mut Told) {
    let (path, place) = (text(rule, "fieldPath"), place.child("fieldPath"));
    if path.is_empty() {
        return;
    }
    if is_blank(path) {
        told.push(|| Cause::invalid(place.text(), path, BLANK));
    }
    if has_break(path) {
        told.push(|| Cause::invalid(place.text(), path, BROKEN));
    }
    if field_path::find(schema.map(), path, true).is_err() {
        told.push(|| Cause::invalid(place.text(), path, "must be a valid path"));
    }
}
