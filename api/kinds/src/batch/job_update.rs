//! Updates of a Job: the specification is immutable, but for its scale, suspension, deadlines, and
//! the scheduling directives of a job that has never run.
//!
//! Changes of the status are checked in `job_status`.

use quorate_meta::{Cause, Value};

use super::job::TEMPLATE;
use crate::field::Field;
use crate::rules;
use quorate_registry::strategy::status;

/// The scheduling directives of a template, which may change while a suspended job has never run
/// (KEP-2926).
const SCHEDULING: [&[&str]; 6] = [
    &["spec", "nodeSelector"],
    &["spec", "affinity", "nodeAffinity"],
    &["spec", "tolerations"],
    &["spec", "schedulingGates"],
    &["metadata", "labels"],
    &["metadata", "annotations"],
];

/// Checks a change of the specification.
pub(super) fn check(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (Field::root(old).get("spec"), Field::root(new).get("spec"));
    check_completions(&before, &after, causes);
    rules::immutable(&before.get("selector"), &after.get("selector"), causes);
    check_template(old, new, causes);
    for field in
        ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        rules::immutable(&before.get(field), &after.get(field), causes);
    }
}

/// Checks a change of `completions`: only to the number of `parallelism`, in an Indexed job
/// (KEP-3715, "Elastic Indexed Jobs").
fn check_completions(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    let (had, has) = (before.get("completions"), after.get("completions"));
    if after.get("completionMode").text() != "Indexed" {
        rules::immutable(&had, &has, causes);
    } else if has.is_set()
        && had.value() != has.value()
        && has.value() != after.get("parallelism").value()
    {
        causes.push(has.invalid("can only be modified in tandem with spec.parallelism"));
    }
}

fn check_template(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let waits = old.at(&["spec", "suspend"]).and_then(Value::as_bool) == Some(true)
        && old.at(&["status", "startTime"]).is_none_or(Value::is_null);
    let mut wanted = new.at(&TEMPLATE).cloned().unwrap_or_default();
    let mut had = old.at(&TEMPLATE).cloned().unwrap_or_default();
    if waits {
        for path in SCHEDULING {
            status::keep_at(path, &had, &mut wanted);
        }
        drop_empty_affinity(&mut wanted);
        drop_empty_affinity(&mut had);
    }
    if wanted != had {
        causes.push(Field::root(new).get("spec.template").invalid(rules::IMMUTABLE));
    }
}

/// Removes an affinity without terms, which means the same as none.
fn drop_empty_affinity(template: &mut Value) {
    let path = ["spec", "affinity"];
    if template.at(&path).is_some_and(Value::is_empty) {
        template.remove_at(&path);
    }
}
