//! JobStatus: counts, times and conditions that agree with each other and with the specification.
//!
//! Invariant of an update: what is finished stays finished, and counts do not decrease.

use std::collections::HashSet;

use quorate_meta::{Cause, CauseReason};

use super::completion_indexes;
use crate::field::Field;
use crate::{rules, workload};

/// A terminal condition, and the condition that must precede it (KEP-3329 and KEP-3998).
const TERMINAL_CONDITIONS: [(&str, &str); 2] =
    [("Complete", "SuccessCriteriaMet"), ("Failed", "FailureTarget")];
const CONDITIONS: &str = "conditions";

/// Checks a status and its change.
pub(super) fn check(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<Cause>) {
    let (before, after, spec) = (old.get("status"), new.get("status"), new.get("spec"));
    workload::not_negative(
        &after,
        &["active", "succeeded", "failed", "ready", "terminating"],
        causes,
    );
    let (ready, active) = (after.get("ready"), after.get("active").int().unwrap_or_default());
    if ready.int().is_some_and(|ready| ready > active) {
        causes.push(ready.invalid("cannot set more ready pods than active"));
    }
    check_uncounted(&after.get("uncountedTerminatedPods"), causes);
    check_conditions(&after, causes);
    check_indexes(&before, &after, &spec, causes);
    check_times(&before, &after, causes);
    check_start(&before, &after, &spec, causes);
    check_progress(&before, &after, &spec, causes);
}

fn holds(status: &Field<'_>, kind: &str) -> bool {
    let list = status.get(CONDITIONS);
    list.items().any(|condition| {
        condition.get("type").text() == kind && condition.get("status").text() == "True"
    })
}

fn wrong_conditions(status: &Field<'_>, why: &str, causes: &mut Vec<Cause>) {
    let message = format!("Invalid value: {why}");
    causes.push(Cause::new(CauseReason::FieldValueInvalid, status.get(CONDITIONS).path(), message));
}

fn check_conditions(status: &Field<'_>, causes: &mut Vec<Cause>) {
    let ended = TERMINAL_CONDITIONS.iter().any(|(ending, _)| holds(status, ending));
    for (one, other) in [
        ("Complete", "Failed"),
        ("Complete", "FailureTarget"),
        ("SuccessCriteriaMet", "FailureTarget"),
        ("SuccessCriteriaMet", "Failed"),
    ] {
        if holds(status, one) && holds(status, other) {
            wrong_conditions(
                status,
                &format!("cannot set {one}=True and {other}=true conditions"),
                causes,
            );
        }
    }
    for (ending, first) in TERMINAL_CONDITIONS {
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
    let terminating = status.get("terminating");
    if ended && terminating.int().is_some_and(|terminating| terminating > 0) {
        causes.push(terminating.invalid("terminating>0 is invalid for finished job"));
    }
    let uncounted = status.get("uncountedTerminatedPods");
    let open = ["succeeded", "failed"].iter().any(|list| !uncounted.get(list).is_empty());
    if ended && open {
        causes.push(uncounted.invalid("must be empty for finished job"));
    }
}

/// Checks that no pod is listed twice in `uncountedTerminatedPods`.
fn check_uncounted(uncounted: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"].map(|name| uncounted.get(name)) {
        for pod in list.items() {
            if pod.is_empty() {
                causes.push(pod.invalid("must not be empty"));
            } else if !seen.insert(pod.text()) {
                causes.push(pod.duplicate());
            }
        }
    }
}

/// Checks lists of indexes that have changed; unchanged ones may date from when the job had more
/// completions.
fn check_indexes(before: &Field<'_>, after: &Field<'_>, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (completed, failed) = (after.get("completedIndexes"), after.get("failedIndexes"));
    let changed = |list: &str| before.get(list).value() != after.get(list).value();
    let (new_completed, new_failed) = (changed("completedIndexes"), changed("failedIndexes"));
    let (completions, limited) =
        (spec.get("completions").int(), spec.get("backoffLimitPerIndex").is_set());
    for (list, name, is_new) in [
        (&completed, "completedIndexes", new_completed),
        (&failed, "failedIndexes", new_failed && limited),
    ] {
        if let Some(Err(why)) = completions
            .filter(|_| is_new)
            .map(|completions| completion_indexes::count(list.text(), completions))
        {
            causes.push(list.invalid(&format!("error parsing {name}: {why}")));
        }
    }
    if new_completed && !completed.is_empty() && spec.get("completionMode").text() != "Indexed" {
        causes.push(
            completed
                .invalid("cannot set non-empty completedIndexes when non-indexed completion mode"),
        );
    }
    if new_failed && failed.is_set() && !limited {
        causes.push(
            failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null"),
        );
    }
    let common = completions.filter(|_| new_completed || new_failed).and_then(|completions| {
        completion_indexes::common(completed.text(), failed.text(), completions)
    });
    if let Some(index) = common {
        causes.push(
            failed
                .invalid(&format!("failedIndexes and completedIndexes overlap at index: {index}")),
        );
    }
}

/// Checks that the start time of a running job does not change.
fn check_start(before: &Field<'_>, after: &Field<'_>, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (had, has) = (before.get("startTime"), after.get("startTime"));
    if had.is_set() && had.value() != has.value() && !spec.get("suspend").is_true() {
        causes.push(has.required("startTime cannot be removed for unsuspended job"));
    }
}

fn check_times(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    let (start, end) = (after.get("startTime"), after.get("completionTime"));
    let complete = holds(after, "Complete");
    if complete && !end.is_set() {
        causes.push(end.required("completionTime is required for Complete jobs"));
    }
    if !complete && end.is_set() {
        causes.push(
            end.invalid("cannot set completionTime when there is no Complete=True condition"),
        );
    }
    if (complete || holds(after, "Failed")) && !start.is_set() {
        causes.push(start.required("startTime is required for finished job"));
    }
    if start.is_set() && end.is_set() && end.text() < start.text() {
        causes.push(end.invalid("must be equal to or after `startTime`"));
    }
    let had = before.get("completionTime");
    if had.is_set() && end.is_set() {
        rules::immutable(&had, &end, causes);
    }
}

/// Checks that a terminal state stays, and that counts do not decrease, but for indexes of a job
/// that was scaled down.
fn check_progress(
    before: &Field<'_>,
    after: &Field<'_>,
    spec: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    for kind in ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"] {
        if holds(before, kind) && !holds(after, kind) {
            let terminal = if matches!(kind, "Complete" | "Failed") { "terminal " } else { "" };
            wrong_conditions(
                after,
                &format!("cannot disable the {terminal}{kind}=True condition"),
                causes,
            );
        }
    }
    let elastic = spec.get("completionMode").text() == "Indexed"
        && spec.get("completions").value() == spec.get("parallelism").value();
    for count in
        ["failed", "succeeded"].into_iter().filter(|count| !(elastic && *count == "succeeded"))
    {
        let (had, has) = (
            before.get(count).int().unwrap_or_default(),
            after.get(count).int().unwrap_or_default(),
        );
        if has < had && has >= 0 {
            let why = format!("cannot decrease the {count} counter");
            causes.push(Cause::invalid(after.get(count).path(), has, &why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn statuses() {
        let run = |old: serde_json::Value, new: serde_json::Value, expect: &[&str]| {
            let (old, new) =
                (Value::from(json!({"status": old})), Value::from(json!({"status": new})));
            let mut causes = Vec::new();
            check(&Field::root(&old), &Field::root(&new), &mut causes);
            assert_eq!(shown(&causes), expect, "{new:?}");
        };
        let condition = |kind: &str| json!({"type": kind, "status": "True"});
        let done = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
        let (start, end) = ("2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z");
        run(json!({}), json!({"active": 1, "ready": 1}), &[]);
        run(
            json!({}),
            json!({"active": -1, "ready": 0}),
            &["Invalid status.active", "Invalid status.ready"],
        );
        run(json!({}), json!({"startTime": start, "completionTime": end, "conditions": done}), &[]);
        run(
            json!({}),
            json!({"startTime": start, "conditions": done}),
            &["Required status.completionTime"],
        );
        run(
            json!({}),
            json!({"startTime": start, "completionTime": end}),
            &["Invalid status.completionTime"],
        );
        run(
            json!({}),
            json!({"conditions": [condition("Failed")]}),
            &["Invalid status.conditions", "Required status.startTime"],
        );
        let ended =
            json!({"startTime": start, "completionTime": end, "conditions": done, "succeeded": 2});
        run(
            ended.clone(),
            json!({"startTime": start}),
            &["Invalid status.conditions", "Invalid status.conditions", "Invalid status.succeeded"],
        );
        run(ended.clone(), ended, &[]);
    }

    fn changed(
        spec: serde_json::Value,
        old: serde_json::Value,
        new: serde_json::Value,
        expect: &[&str],
    ) {
        let (old, new) = (
            Value::from(json!({"status": old})),
            Value::from(json!({"spec": spec, "status": new})),
        );
        let mut causes = Vec::new();
        check(&Field::root(&old), &Field::root(&new), &mut causes);
        assert_eq!(shown(&causes), expect, "{new:?}");
    }

    #[test]
    fn lists_of_indexes() {
        let indexed =
            json!({"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1});
        let lists = |completed: &str, failed: &str| json!({"completedIndexes": completed, "failedIndexes": failed});
        changed(indexed.clone(), json!({}), lists("0,1", "2"), &[]);
        changed(indexed.clone(), lists("0-9", ""), lists("0-9", ""), &[]);
        let both = ["Invalid status.completedIndexes", "Invalid status.failedIndexes"];
        changed(indexed.clone(), json!({}), lists("x", "5-"), &both);
        changed(indexed, json!({}), lists("0-1", "1"), &["Invalid status.failedIndexes"]);
        changed(json!({"completions": 3}), json!({}), lists("0", "1"), &both);
    }

    #[test]
    fn pods_are_counted_once() {
        let uncounted = |succeeded: &[&str], failed: &[&str]| json!({"uncountedTerminatedPods": {"succeeded": succeeded, "failed": failed}});
        changed(json!({}), json!({}), uncounted(&["a"], &["b"]), &[]);
        let at = "status.uncountedTerminatedPods";
        let expect = [
            format!("Duplicate {at}.succeeded[1]"),
            format!("Invalid {at}.succeeded[2]"),
            format!("Duplicate {at}.failed[0]"),
        ];
        changed(
            json!({}),
            json!({}),
            uncounted(&["a", "a", ""], &["a"]),
            &expect.each_ref().map(String::as_str),
        );
    }

    #[test]
    fn running_jobs_have_a_start_time() {
        let (old, new) = (
            json!({"startTime": "2024-01-01T00:00:00Z"}),
            json!({"startTime": "2025-01-01T00:00:00Z"}),
        );
        changed(json!({}), json!({}), new.clone(), &[]);
        changed(json!({}), old.clone(), new.clone(), &["Required status.startTime"]);
        changed(json!({}), old.clone(), json!({}), &["Required status.startTime"]);
        changed(json!({"suspend": true}), old, json!({}), &[]);
    }

    #[test]
    fn counts_of_scaled_down_jobs() {
        let check = |parallelism: i64, expect: &[&str]| {
            let spec =
                json!({"completionMode": "Indexed", "completions": 2, "parallelism": parallelism});
            changed(spec, json!({"succeeded": 3}), json!({"succeeded": 2}), expect);
        };
        check(2, &[]);
        check(1, &["Invalid status.succeeded"]);
    }
}
