//! Lease: the holder of a lock, for leader election and node heartbeats.

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::rules;
use quorate_registry::features::Feature;
use quorate_registry::{GatedFields, Strategy};

/// Gated fields: coordinated leader election (KEP-4355).
const GATED: &[GatedFields] = &[GatedFields {
    below: "spec",
    fields: &[
        (Feature::CoordinatedLeaderElection, "strategy"),
        (Feature::CoordinatedLeaderElection, "preferredHolder"),
    ],
    off: &[],
}];

/// The strategy of Lease.
#[derive(Debug)]
pub(super) struct Lease;

impl Strategy for Lease {
    fn checks_structure(&self) -> bool {
        false
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let duration = spec.get("leaseDurationSeconds");
        if duration.int().is_some_and(|seconds| seconds <= 0) {
            causes.push(duration.invalid("must be greater than 0"));
        }
        rules::not_negative(&spec.get("leaseTransitions"), &mut causes);
        let (strategy, preferred) = (spec.get("strategy"), spec.get("preferredHolder"));
        if !preferred.is_empty() && strategy.is_empty() {
            causes.push(preferred.forbidden("may only be specified if `strategy` is defined"));
        }
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
    fn leases() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            assert_eq!(
                shown(&Lease.validate(Naming::Svc.names(), &json!({ "spec": spec }).into())),
                expect
            );
        };
        check(json!({}), &[]);
        check(json!({"leaseDurationSeconds": 15, "leaseTransitions": 0}), &[]);
        check(
            json!({"leaseDurationSeconds": 0, "leaseTransitions": -1}),
            &["Invalid spec.leaseDurationSeconds", "Invalid spec.leaseTransitions"],
        );
        check(json!({"preferredHolder": "me"}), &["Forbidden spec.preferredHolder"]);
    }
}
