//! `metav1.Condition`: the fields that every condition must have.
//!
//! Invariant of a valid list: each type occurs once.

use std::collections::HashSet;

use quorate_meta::{Cause, name};

use super::field::Field;
use super::rules;

/// Bytes of a reason, at most.
const MAX_REASON: usize = 1024;
/// Bytes of a message, at most.
const MAX_MESSAGE: usize = 32 << 10;
const NOT_A_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
                            alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. \
                            'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used \
                            for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Checks a list of conditions.
pub(super) fn check(conditions: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for condition in conditions.items() {
        let kind = condition.get("type");
        if !seen.insert(kind.text()) {
            causes.push(Cause::duplicate(kind.path(), kind.text()));
        }
        let wrong = name::qualified_name(kind.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(kind.path(), kind.text(), why)));
        check_one(&condition, causes);
    }
}

fn check_one(condition: &Field<'_>, causes: &mut Vec<Cause>) {
    const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
    let (status, generation) = (condition.get("status"), condition.get("observedGeneration"));
    if !STATUSES.contains(&status.text()) {
        causes.push(status.not_supported(&STATUSES));
    }
    if generation.int().is_some_and(|generation| generation < 0) {
        causes.push(generation.invalid("must be greater than or equal to zero"));
    }
    let (since, reason, message) =
        (condition.get("lastTransitionTime"), condition.get("reason"), condition.get("message"));
    if since.is_empty() {
        causes.push(since.required("must be set"));
    }
    if reason.is_empty() {
        causes.push(reason.required("must be set"));
    } else if !is_reason(reason.text()) {
        causes.push(reason.invalid(NOT_A_REASON));
    }
    rules::at_most_bytes(&reason, MAX_REASON, causes);
    rules::at_most_bytes(&message, MAX_MESSAGE, causes);
}

fn is_reason(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(inner)
        && !text.ends_with([',', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::field_causes;
    use serde_json::json;

    #[test]
    fn conditions() {
        let good = json!({"type": "Ready", "status": "True", "reason": "AllWell", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"});
        let run = |field: &str, value: serde_json::Value, expect: &[&str]| {
            let mut condition = good.clone();
            condition[field] = value;
            field_causes(check, json!([condition]), expect);
        };
        field_causes(check, json!([good]), &[]);
        field_causes(check, json!([good, good]), &["Duplicate s[1].type"]);
        run("type", json!("a b"), &["Invalid s[0].type"]);
        run("status", json!("X"), &["NotSupported s[0].status"]);
        run("observedGeneration", json!(-1), &["Invalid s[0].observedGeneration"]);
        run("lastTransitionTime", json!(null), &["Required s[0].lastTransitionTime"]);
        run("reason", json!(""), &["Required s[0].reason"]);
        run("message", json!("x".repeat(MAX_MESSAGE + 1)), &["TooLong s[0].message"]);
    }

    #[test]
    fn reasons() {
        for good in ["a", "MyName", "ReasonA,ReasonB", "A:B", "a_"] {
            assert!(is_reason(good), "{good}");
        }
        for bad in ["1a", "_a", "a-b", "a,", "a:", "a b"] {
            assert!(!is_reason(bad), "{bad}");
        }
    }
}
