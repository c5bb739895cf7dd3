//! ResourceClaim and ResourceClaimTemplate: devices that a workload asks for, and the pattern of such a claim.

use quorate_meta::{Cause, Names, Value};

use super::requests;
use crate::registry::kinds::field::Field;
use crate::registry::kinds::rules;
use crate::registry::{Disabled, Part, Strategy};

/// Users of one claim.
const MAX_RESERVED: usize = 256;

/// The semantics of claims.
#[derive(Debug)]
pub(super) struct ResourceClaim;

impl Strategy for ResourceClaim {
    fn has_status(&self) -> bool {
        true
    }

    fn disabled(&self) -> &'static [Disabled] {
        const DISABLED: &[Disabled] = &[requests::disabled("spec.devices")];
        DISABLED
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec") {
            requests::default_counts(spec);
        }
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        let (reserved, allocation) = (object.get("status.reservedFor"), object.get("status.allocation"));
        if reserved.items().len() > MAX_RESERVED {
            causes.push(Cause::too_many(reserved.path(), reserved.items().len(), MAX_RESERVED));
        }
        if !reserved.is_empty() && !allocation.is_set() {
            causes.push(reserved.forbidden("may not be specified when `allocated` is not set"));
        }
        causes
    }

    /// What is asked for never changes, and so is looked at once.
    fn validate_create(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        requests::devices(&Field::root(object).get("spec.devices"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        spec_stays(old, new, &mut causes);
        let allocation = |object| Field::root(object).get("status.allocation");
        let (before, after) = (allocation(old), allocation(new));
        if part == Part::Status && before.is_set() && after.is_set() {
            rules::immutable(&before, &after, &mut causes);
        }
        causes
    }
}

/// The semantics of templates.
#[derive(Debug)]
pub(super) struct ResourceClaimTemplate;

impl Strategy for ResourceClaimTemplate {
    fn disabled(&self) -> &'static [Disabled] {
        const DISABLED: &[Disabled] = &[requests::disabled("spec.spec.devices")];
        DISABLED
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["spec", "spec"]) {
            requests::default_counts(spec);
        }
    }

    fn validate_create(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        requests::devices(&Field::root(object).get("spec.spec.devices"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        spec_stays(old, new, &mut causes);
        causes
    }
}

fn spec_stays(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    rules::immutable(&Field::root(old).get("spec"), &Field::root(new).get("spec"), causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds::rules::testing::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn the_spec_stays_and_so_does_an_allocation() {
        let check = |part: Part, old: Json, new: Json, expect: &[&str]| {
            let causes = ResourceClaim.validate_update(Naming::Svc.names(), part, &old.into(), &new.into());
            assert_eq!(shown(&causes), expect);
        };
        let spec = |name: &str| json!({"spec": {"devices": {"requests": [{"name": name}]}}});
        check(Part::Main, spec("a"), spec("a"), &[]);
        check(Part::Main, spec("a"), spec("b"), &["Invalid spec"]);
        let allocated = |node: &str| json!({"status": {"allocation": {"devices": {"results": [node]}}}});
        check(Part::Status, json!({}), allocated("a"), &[]);
        check(Part::Status, allocated("a"), json!({}), &[]);
        check(Part::Status, allocated("a"), allocated("b"), &["Invalid status.allocation"]);
    }

    #[test]
    fn only_an_allocated_claim_is_reserved() {
        let check = |status: Json, expect: &[&str]| {
            let object = json!({"spec": {"devices": {}}, "status": status}).into();
            assert_eq!(shown(&ResourceClaim.validate(Naming::Svc.names(), &object)), expect);
        };
        check(json!({"allocation": {}, "reservedFor": [{"uid": "u"}]}), &[]);
        check(json!({"reservedFor": [{"uid": "u"}]}), &["Forbidden status.reservedFor"]);
    }
}
