//! PersistentVolumeClaimStatus: sizes, and the states of their changes (KEP-1790).

use quorate_meta::{Cause, Names, name};

use crate::field::Field;
use crate::resource_names::is_native;
use crate::rules;

/// The only resource of claims, besides those of other domains.
const STORAGE: &str = "storage";
/// The states of a change of size.
const STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
];

/// Checks a status.
pub(super) fn check(names: &Names, status: &Field<'_>, causes: &mut Vec<Cause>) {
    for (_, size) in status.get("capacity").entries() {
        check_size(&size, causes);
    }
    let states = status.get("allocatedResourceStatuses");
    for (resource, state) in states.entries() {
        let before = causes.len();
        check_resource(names, &states, resource, causes);
        if before == causes.len() {
            rules::optional_one_of(&state, &STATES, causes);
        }
    }
    let sizes = status.get("allocatedResources");
    for (resource, size) in sizes.entries() {
        let before = causes.len();
        check_resource(names, &sizes, resource, causes);
        if before == causes.len() {
            check_size(&size, causes);
        }
    }
}

/// Checks the name of a resource: of the native ones claims have storage only.
fn check_resource(names: &Names, list: &Field<'_>, resource: &str, causes: &mut Vec<Cause>) {
    let path = list.path().key(resource);
    let wrong = name::qualified_name(resource);
    if wrong.is_empty() && resource != STORAGE && is_native(names, resource) {
        causes.push(Cause::not_supported(&path, resource, &[STORAGE]));
    }
    causes.extend(wrong.iter().map(|why| Cause::invalid(&path, resource, why)));
}

fn check_size(size: &Field<'_>, causes: &mut Vec<Cause>) {
    if rules::quantity(size).is_negative() {
        causes.push(size.invalid("must be a valid resource quantity"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::{Naming, Value};
    use serde_json::{Value as Json, json};

    #[test]
    fn sizes_and_states() {
        let run = |field: &str, key: &str, value: &str, expect: Option<&str>| {
            let object = Value::from(json!({"status": {field: {key: value}}}));
            let mut causes = Vec::new();
            check(Naming::Svc.names(), &Field::root(&object).get("status"), &mut causes);
            let expect: Vec<String> =
                expect.iter().map(|why| format!("{why} status.{field}[{key}]")).collect();
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        run("capacity", STORAGE, "1Gi", None);
        run("capacity", STORAGE, "-1", Some("Invalid"));
        run("allocatedResources", STORAGE, "1Gi", None);
        run("allocatedResources", STORAGE, "-1", Some("Invalid"));
        run("allocatedResources", "cpu", "1", Some("NotSupported"));
        run("allocatedResources", "example.com/iops", "1", None);
        let states = "allocatedResourceStatuses";
        run(states, STORAGE, "NodeResizePending", None);
        run(states, STORAGE, "Odd", Some("NotSupported"));
        run(states, "cpu", "NodeResizePending", Some("NotSupported"));
        run(states, "a b", "NodeResizePending", Some("Invalid"));
        let none: Json = json!({});
        let mut causes = Vec::new();
        check(Naming::Svc.names(), &Field::root(&Value::from(none)).get("status"), &mut causes);
        assert!(causes.is_empty());
    }
}
