//! PodDisruptionBudget: how many pods of a selector may be evicted at the same time.
//!
//! The limit is enforced by the eviction subresource.

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::{conditions, rules, workload};
use quorate_registry::{Part, Strategy};

const COUNTS: [&str; 4] =
    ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// The strategy of PodDisruptionBudget.
#[derive(Debug)]
pub(super) struct PodDisruptionBudget;

impl Strategy for PodDisruptionBudget {
    fn checks_structure(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], COUNTS.map(|field| (field, 0)));
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let (least, most) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
        if least.is_set() && most.is_set() {
            causes.push(spec.invalid("minAvailable and maxUnavailable cannot be both set"));
        }
        for field in [&least, &most] {
            workload::number_or_percent(field, &mut causes);
            workload::at_most_100_percent(field, &mut causes);
        }
        rules::selector(&spec.get("selector"), &mut causes);
        let policy = spec.get("unhealthyPodEvictionPolicy");
        rules::optional_one_of(&policy, &["AlwaysAllow", "IfHealthyBudget"], &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, _: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if part == Part::Status {
            let status = Field::root(new).get("status");
            conditions::check(&status.get("conditions"), &mut causes);
            workload::not_negative(&status, &COUNTS, &mut causes);
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
    fn statuses() {
        let check = |status: serde_json::Value, expect: &[&str]| {
            let new = json!({ "status": status }).into();
            let causes = PodDisruptionBudget.validate_update(
                Naming::Svc.names(),
                Part::Status,
                &Value::Null,
                &new,
            );
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"currentHealthy": 1}), &[]);
        check(json!({"currentHealthy": -1}), &["Invalid status.currentHealthy"]);
        let condition =
            json!({"type": "a", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"});
        check(json!({"conditions": [condition]}), &["Required status.conditions[0].reason"]);
    }

    #[test]
    fn budgets() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let causes =
                PodDisruptionBudget.validate(Naming::Svc.names(), &json!({ "spec": spec }).into());
            assert_eq!(shown(&causes), expect);
        };
        check(json!({}), &[]);
        check(
            json!({"minAvailable": "30%", "selector": {"matchLabels": {"a": "b"}}, "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            &[],
        );
        check(json!({"minAvailable": 1, "maxUnavailable": 1}), &["Invalid spec"]);
        check(
            json!({"maxUnavailable": "101%", "unhealthyPodEvictionPolicy": "Maybe"}),
            &["Invalid spec.maxUnavailable", "NotSupported spec.unhealthyPodEvictionPolicy"],
        );
    }
}
