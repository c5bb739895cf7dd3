//! The DeleteOptions of an eviction, which stand in its body.
//!
//! A dry run counts wherever it is asked for, in the body or in the query, as in deletions.

use quorate_meta::{Cause, GroupKind, Names, Status, Value};

use crate::handlers::delete_options::{IGNORE_READ_ERRORS, KIND, parse_policy};
use crate::handlers::write::options::{check_dry_run, refuse};
use quorate_registry::error::Error;
use quorate_registry::write::{DeleteOptions, Preconditions};

/// Reads and checks the options in an eviction of this kind; `dry_run` is what the query says.
pub(super) fn of(
    names: &Names,
    kind: &GroupKind,
    eviction: &Value,
    dry_run: bool,
) -> Result<DeleteOptions, Error> {
    let given = |field: &str| eviction.at(&["deleteOptions", field]);
    if given(IGNORE_READ_ERRORS).and_then(Value::as_bool) == Some(true) {
        let name = eviction.str_at(&["metadata", "name"]).unwrap_or_default();
        let (field, why) = (
            format!("deleteOptions.{IGNORE_READ_ERRORS}"),
            "can not be set for pod eviction, try after removing the option",
        );
        return Err(
            Status::invalid(kind, name, vec![Cause::invalid(field.as_str(), true, why)]).into()
        );
    }
    let mut causes = Vec::new();
    let policy = given("propagationPolicy").and_then(Value::as_str);
    let orphan_dependents = given("orphanDependents").and_then(Value::as_bool);
    let propagation = parse_policy(policy, orphan_dependents, &mut causes);
    let values = given("dryRun").and_then(Value::as_list).unwrap_or_default();
    let dry_run = check_dry_run(values.iter().filter_map(Value::as_str), &mut causes) || dry_run;
    refuse(names, KIND, causes)?;
    let precondition = |field: &str| {
        eviction.str_at(&["deleteOptions", "preconditions", field]).map(str::to_owned)
    };
    let preconditions = Preconditions {
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
    };
    let grace_seconds = given("gracePeriodSeconds").and_then(Value::as_i64);
    Ok(DeleteOptions { dry_run, preconditions, propagation, grace_seconds, of_collection: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use quorate_registry::Propagation;
    use serde_json::{Value as Json, json};

    fn read(options: Json, dry_run: bool) -> Result<DeleteOptions, Error> {
        let eviction = json!({"metadata": {"name": "p"}, "deleteOptions": options});
        of(Naming::Svc.names(), &GroupKind::new("policy", "Eviction"), &eviction.into(), dry_run)
    }

    #[test]
    fn what_is_asked_for() {
        let check = |options: Json, dry_run: bool, expect: DeleteOptions| {
            assert_eq!(read(options, dry_run), Ok(expect));
        };
        let dry = || DeleteOptions { dry_run: true, ..DeleteOptions::default() };
        check(json!(null), false, DeleteOptions::default());
        check(json!({}), true, dry());
        check(json!({"dryRun": ["All"]}), false, dry());
        check(json!({"dryRun": ["All"]}), true, dry());
        check(
            json!({"gracePeriodSeconds": 5, "preconditions": {"uid": "u", "resourceVersion": "7"}, "propagationPolicy": "Orphan"}),
            false,
            DeleteOptions {
                preconditions: Preconditions {
                    uid: Some("u".into()),
                    resource_version: Some("7".into()),
                },
                propagation: Some(Propagation::Orphan),
                grace_seconds: Some(5),
                ..DeleteOptions::default()
            },
        );
        check(
            json!({"orphanDependents": false}),
            false,
            DeleteOptions {
                propagation: Some(Propagation::Background),
                ..DeleteOptions::default()
            },
        );
    }

    #[test]
    fn what_cannot_be_asked_for() {
        let check = |options: Json, kind: &str, field: &str| {
            let status = read(options, false).expect_err("a refusal").into_status();
            let details = status.details.clone().unwrap_or_default();
            let fields: Vec<&str> =
                details.causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(
                (status.code, details.kind.as_str(), fields),
                (422, kind, vec![field]),
                "{status}"
            );
        };
        check(json!({"dryRun": ["Some"]}), KIND, "dryRun");
        check(json!({"propagationPolicy": "Sometimes"}), KIND, "propagationPolicy");
        check(
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            KIND,
            "propagationPolicy",
        );
        check(
            json!({IGNORE_READ_ERRORS: true}),
            "Eviction",
            &format!("deleteOptions.{IGNORE_READ_ERRORS}"),
        );
    }
}
