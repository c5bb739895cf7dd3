//! The status of a job: counts, times and conditions that must agree, and that only ever go forward.

use quorate_meta::{Cause, CauseReason};

use crate::registry::kinds::field::Field;
use crate::registry::kinds::{rules, workload};

/// A condition that ends a job, and the one that must come before it.
const ENDINGS: [(&str, &str); 2] = [("Complete", "SuccessCriteriaMet"), ("Failed", "FailureTarget")];
const CONDITIONS: &str = "conditions";

/// What is wrong with a status and with how it has changed.
pub(super) fn check(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<Cause>) {
    let (before, after) = (old.get("status"), new.get("status"));
    workload::not_negative(&after, &["active", "succeeded", "failed", "ready", "terminating"], causes);
    let (ready, active) = (after.get("ready"), after.get("active").int().unwrap_or_default());
    if ready.int().is_some_and(|ready| ready > active) {
        causes.push(ready.invalid("cannot set more ready pods than active"));
    }
    check_conditions(&after, causes);
    check_times(&before, &after, causes);
    check_progress(&before, &after, causes);
}

fn holds(status: &Field<'_>, kind: &str) -> bool {
    let list = status.get(CONDITIONS);
    list.items().any(|condition| condition.get("type").text() == kind && condition.get("status").text() == "True")
}

fn wrong_conditions(status: &Field<'_>, why: &str, causes: &mut Vec<Cause>) {
    let message = format!("Invalid value: {why}");
    causes.push(Cause::new(CauseReason::FieldValueInvalid, status.get(CONDITIONS).path(), message));
}

fn check_conditions(status: &Field<'_>, causes: &mut Vec<Cause>) {
    let ended = ENDINGS.iter().any(|(ending, _)| holds(status, ending));
    for (one, other) in [
        ("Complete", "Failed"),
        ("Complete", "FailureTarget"),
        ("SuccessCriteriaMet", "FailureTarget"),
        ("SuccessCriteriaMet", "Failed"),
    ] {
        if holds(status, one) && holds(status, other) {
            wrong_conditions(status, &format!("cannot set {one}=True and {other}=true conditions"), causes);
        }
    }
    for (ending, first) in ENDINGS {
        if holds(status, ending) && !holds(status, first) {
            wrong_conditions(
                status,
                &format!("cannot set {ending}=True condition without the {first}=true condition"),
                causes,
            );
        }
    }
    let active = status.get("active");
    if ended && active.int().is_some_and(|active| active > 0) {
        causes.push(active.invalid("active>0 is invalid for finished job"));
    }
    let uncounted = status.get("uncountedTerminatedPods");
    let open = ["succeeded", "failed"].iter().any(|list| !uncounted.get(list).is_empty());
    if ended && open {
        causes.push(uncounted.invalid("uncountedTerminatedPods needs to be empty for finished job"));
    }
}

fn check_times(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    let (start, end) = (after.get("startTime"), after.get("completionTime"));
    let complete = holds(after, "Complete");
    if complete && !end.is_set() {
        causes.push(end.required("completionTime is required for Complete jobs"));
    }
    if !complete && end.is_set() {
        causes.push(end.invalid("cannot set completionTime when there is no Complete=True condition"));
    }
    if complete && !start.is_set() {
        causes.push(start.required("startTime is required for finished job"));
    }
    if start.is_set() && end.is_set() && end.text() < start.text() {
        causes.push(end.invalid("completionTime cannot be set before startTime"));
    }
    let had = before.get("completionTime");
    if had.is_set() && end.is_set() {
        rules::immutable(&had, &end, causes);
    }
}

/// What has ended stays so, and what has been counted stays counted.
fn check_progress(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    for kind in ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"] {
        if holds(before, kind) && !holds(after, kind) {
            let terminal = if matches!(kind, "Complete" | "Failed") { "terminal " } else { "" };
            wrong_conditions(after, &format!("cannot disable the {terminal}{kind}=True condition"), causes);
        }
    }
    for count in ["failed", "succeeded"] {
        let (had, has) = (before.get(count).int().unwrap_or_default(), after.get(count).int().unwrap_or_default());
        if has < had && has >= 0 {
            let why = format!("cannot decrease the {count} counter");
            causes.push(Cause::invalid(after.get(count).path(), has, &why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds::rules::testing::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn statuses() {
        let run = |old: serde_json::Value, new: serde_json::Value, expect: &[&str]| {
            let (old, new) = (Value::from(json!({"status": old})), Value::from(json!({"status": new})));
            let mut causes = Vec::new();
            check(&Field::root(&old), &Field::root(&new), &mut causes);
            assert_eq!(shown(&causes), expect, "{new:?}");
        };
        let condition = |kind: &str| json!({"type": kind, "status": "True"});
        let done = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
        let (start, end) = ("2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z");
        run(json!({}), json!({"active": 1, "ready": 1}), &[]);
        run(json!({}), json!({"active": -1, "ready": 0}), &["Invalid status.active", "Invalid status.ready"]);
        run(json!({}), json!({"startTime": start, "completionTime": end, "conditions": done}), &[]);
        run(json!({}), json!({"startTime": start, "conditions": done}), &["Required status.completionTime"]);
        run(json!({}), json!({"startTime": start, "completionTime": end}), &["Invalid status.completionTime"]);
        run(json!({}), json!({"conditions": [condition("Failed")]}), &["Invalid status.conditions"]);
        let ended = json!({"startTime": start, "completionTime": end, "conditions": done, "succeeded": 2});
        run(
            ended.clone(),
            json!({"startTime": start}),
            &["Invalid status.conditions", "Invalid status.conditions", "Invalid status.succeeded"],
        );
        run(ended.clone(), ended, &[]);
    }
}
