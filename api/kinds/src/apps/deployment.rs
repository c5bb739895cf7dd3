//! Deployment: pods of one template, and how a rollout replaces them.

use quorate_meta::{Cause, Map, Names, Value};

use crate::core::pod::{template, warnings};
use crate::field::Field;
use crate::{rules, workload};
use quorate_registry::strategy::status;
use quorate_registry::{GatedFields, Part, Strategy};

/// The default of `maxSurge` and `maxUnavailable`.
const DEFAULT_ROLLING_UPDATE: &str = "25%";

const GATED: &[GatedFields] = &[template::gated("spec.template.spec")];

/// The strategy of Deployment.
#[derive(Debug)]
pub(super) struct Deployment;

impl Strategy for Deployment {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    /// Annotations count too: the deployment controller acts on some of them.
    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        let annotations = |object: &Value| object.at(&["metadata", "annotations"]).cloned();
        old.get("spec") != new.get("spec") || annotations(old) != annotations(new)
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &["spec", "template"]);
        if object.str_at(&["spec", "strategy", "type"]) == Some("RollingUpdate") {
            for field in ["maxUnavailable", "maxSurge"] {
                let path = ["spec", "strategy", "rollingUpdate", field];
                if object.at(&path).is_none_or(Value::is_null) {
                    object.set_at(&path, DEFAULT_ROLLING_UPDATE);
                }
            }
        }
    }

    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            Part::Status => &["metadata.labels", "spec"],
            part => status::ignored(part),
        }
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::new());
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        if part == Part::Status {
            status::keep_at(&["metadata", "labels"], old, new);
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let selector = spec.get("selector");
        rules::not_negative(&spec.get("replicas"), &mut causes);
        if workload::check_selector(&selector, "deployment", &mut causes) {
            template::check_selector_matches(&selector, &spec.get("template"), &mut causes);
            template::check_long_running(names, &spec.get("template"), "ReplicaSet", &mut causes);
        }
        check_strategy(&spec.get("strategy"), &mut causes);
        workload::not_negative(
            &spec,
            &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
            &mut causes,
        );
        let deadline = spec.get("progressDeadlineSeconds");
        if deadline
            .int()
            .is_some_and(|seconds| seconds <= spec.get("minReadySeconds").int().unwrap_or_default())
        {
            causes.push(deadline.invalid("must be greater than minReadySeconds"));
        }
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        match part {
            Part::Main => {
                rules::immutable(&old.get("spec.selector"), &new.get("spec.selector"), &mut causes)
            }
            _ => check_status(&old.get("status"), &new.get("status"), &mut causes),
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of_workload(names, old, new, "spec.template")
    }
}

fn check_strategy(strategy: &Field<'_>, causes: &mut Vec<Cause>) {
    let update = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" if update.is_set() => {
            causes
                .push(update.forbidden("may not be specified when strategy `type` is 'Recreate'"));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (missing, surplus) = (update.get("maxUnavailable"), update.get("maxSurge"));
            workload::number_or_percent(&missing, causes);
            workload::number_or_percent(&surplus, causes);
            if workload::is_zero(&missing) && workload::is_zero(&surplus) {
                causes.push(missing.invalid("may not be 0 when `maxSurge` is 0"));
            }
            workload::at_most_100_percent(&missing, causes);
        }
        _ => {
            let value = strategy.value().clone();
            causes.push(Cause::not_supported(
                strategy.path(),
                value,
                &["Recreate", "RollingUpdate"],
            ));
        }
    }
}

fn check_status(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<Cause>) {
    let counted = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    workload::not_negative(new, &counted, causes);
    for field in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        workload::at_most(new, field, "replicas", "status.replicas", causes);
    }
    workload::at_most(new, "availableReplicas", "readyReplicas", "readyReplicas", causes);
    let (had, has) = (old.get("collisionCount"), new.get("collisionCount"));
    if had.int() > has.int() {
        causes.push(Cause::invalid(
            has.path(),
            has.int().unwrap_or_default(),
            "cannot be decremented",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{field_causes, shown};
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn strategies() {
        let check = |strategy, expect: &[&str]| field_causes(check_strategy, strategy, expect);
        let rolling = |missing: serde_json::Value, surplus: serde_json::Value| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": missing, "maxSurge": surplus}});
        check(json!({"type": "Recreate"}), &[]);
        check(rolling(json!("25%"), json!(2)), &[]);
        check(rolling(json!(0), json!("0%")), &["Invalid s.rollingUpdate.maxUnavailable"]);
        check(rolling(json!(0), json!("many")), &["Invalid s.rollingUpdate.maxSurge"]);
        check(rolling(json!("101%"), json!(0)), &["Invalid s.rollingUpdate.maxUnavailable"]);
        check(json!({"type": "Recreate", "rollingUpdate": {}}), &["Forbidden s.rollingUpdate"]);
        check(json!({"type": "Slow"}), &["NotSupported s"]);
    }

    #[test]
    fn defaults() {
        let check = |strategy: serde_json::Value, expect: serde_json::Value| {
            let mut object = Value::from(json!({"spec": {"strategy": strategy}}));
            Deployment.default(Naming::Svc.names(), &mut object);
            assert_eq!(object, json!({"spec": {"strategy": expect}}).into());
        };
        let rolling = |missing: &str, surplus: serde_json::Value| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": missing, "maxSurge": surplus}});
        check(json!({"type": "RollingUpdate"}), rolling("25%", json!("25%")));
        check(
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}),
            rolling("25%", json!(2)),
        );
        check(json!({"type": "Recreate"}), json!({"type": "Recreate"}));
    }

    #[test]
    fn statuses() {
        let check = |status: serde_json::Value, expect: &[&str]| {
            let old = Value::from(json!({"status": {"collisionCount": 2}}));
            let new = Value::from(json!({ "status": status }));
            let causes = Deployment.validate_update(Naming::Svc.names(), Part::Status, &old, &new);
            assert_eq!(shown(&causes), expect);
        };
        check(
            json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "collisionCount": 2}),
            &[],
        );
        check(
            json!({"replicas": 1, "readyReplicas": 2, "collisionCount": 3}),
            &["Invalid status.readyReplicas"],
        );
        check(
            json!({"terminatingReplicas": -1, "collisionCount": 2}),
            &["Invalid status.terminatingReplicas"],
        );
        check(
            json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 2, "collisionCount": 1}),
            &["Invalid status.availableReplicas", "Invalid status.collisionCount"],
        );
    }
}
