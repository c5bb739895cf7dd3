//! ControllerRevision: a snapshot of a workload's state for rollbacks.
//!
//! Invariant: its data never changes.

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// The strategy of ControllerRevision.
#[derive(Debug)]
pub(super) struct ControllerRevision;

impl Strategy for ControllerRevision {
    fn checks_structure(&self) -> bool {
        false
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let root = Field::root(object);
        if !root.get("data").is_set() {
            causes.push(root.get("data").required("data is mandatory"));
        }
        rules::not_negative(&root.get("revision"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        rules::immutable(&Field::root(old).get("data"), &Field::root(new).get("data"), &mut causes);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn rules_and_changes() {
        let names = Naming::Svc.names();
        let check = |object: serde_json::Value, expect: &[&str]| {
            assert_eq!(shown(&ControllerRevision.validate(names, &object.into())), expect);
        };
        check(json!({"data": {"any": "thing"}, "revision": 3}), &[]);
        check(json!({"data": null, "revision": -1}), &["Required data", "Invalid revision"]);
        let (old, new) = (json!({"data": 1}).into(), json!({"data": 2}).into());
        assert_eq!(
            shown(&ControllerRevision.validate_update(names, Part::Main, &old, &new)),
            ["Invalid data"]
        );
    }
}
