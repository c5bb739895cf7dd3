//! HorizontalPodAutoscaler v2, the stored version: the bounds, metrics and behavior of a scaled
//! workload.

use quorate_meta::{Cause, Map, Names, Value, name};

use super::{behavior, metrics};
use crate::field::Field;
use crate::workload;
use quorate_registry::{Part, Strategy};

/// The default target of CPU utilization, in percent of the requests.
const DEFAULT_CPU_PERCENT: i64 = 80;

/// The strategy of HorizontalPodAutoscaler v2.
#[derive(Debug)]
pub(super) struct HorizontalPodAutoscaler;

impl Strategy for HorizontalPodAutoscaler {
    fn checks_structure(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(spec) = object.as_map_mut().and_then(|map| map.map_mut("spec")) {
            default_spec(spec);
        }
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object
            .set_at(&["status"], [("currentMetrics", Value::Null), ("desiredReplicas", 0.into())]);
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let spec = Field::root(object).get("spec");
        let mut causes = Vec::new();
        check_bounds(&spec, &mut causes);
        check_target(&spec.get("scaleTargetRef"), &mut causes);
        metrics::check(&spec.get("metrics"), spec.get("minReplicas").int() == Some(0), &mut causes);
        behavior::check(&spec.get("behavior"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, _: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if part == Part::Status {
            let status = Field::root(new).get("status");
            workload::not_negative(&status, &["currentReplicas", "desiredReplicas"], &mut causes);
        }
        causes
    }
}

/// Defaults replicas, metrics and behavior.
pub(super) fn default_spec(spec: &mut Map) {
    spec.get_or_insert_with("minReplicas", || 1.into());
    if spec.get("metrics").is_none_or(Value::is_empty) {
        let target = [
            ("averageUtilization", Value::from(DEFAULT_CPU_PERCENT)),
            ("type", "Utilization".into()),
        ];
        let resource = [("name", Value::from("cpu")), ("target", target.into())];
        let metric =
            Value::from([("resource", Value::from(resource)), ("type", "Resource".into())]);
        spec.insert("metrics", vec![metric]);
    }
    if let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_map_mut) {
        behavior::default(behavior);
    }
}

fn check_bounds(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (min, max) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    let most = max.int().unwrap_or_default();
    if min.int().is_some_and(|least| least < 1) {
        causes.push(min.invalid("must be greater than or equal to 1"));
    }
    if most < 1 {
        causes.push(max.invalid("must be greater than 0"));
    }
    if min.int().is_some_and(|least| most < least) {
        causes.push(max.invalid("must be greater than or equal to `minReplicas`"));
    }
}

/// Checks the scale target. Its API version is required, but for ReplicationController of the core
/// group.
fn check_target(target: &Field<'_>, causes: &mut Vec<Cause>) {
    check_reference(target, causes);
    let version = target.get("apiVersion");
    let is_core = version.text() == "v1" && target.get("kind").text() == "ReplicationController";
    if !version.text().contains('/') && !is_core {
        causes.push(version.invalid("apiVersion must specify API group"));
    }
}

/// Checks kind and name of a reference.
pub(super) fn check_reference(reference: &Field<'_>, causes: &mut Vec<Cause>) {
    for field in [reference.get("kind"), reference.get("name")] {
        if field.is_empty() {
            causes.push(field.required(""));
        }
        causes.extend(field.invalid_for(&name::path_segment(field.text())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn rules() {
        let check = |change: serde_json::Value, expect: &[&str]| {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
            let mut object = Value::from(
                json!({"spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 3}}),
            );
            quorate_registry::patch::merge(&mut object, json!({"spec": change}).into());
            let causes = HorizontalPodAutoscaler.validate(Naming::Svc.names(), &object);
            let found: Vec<String> =
                causes.iter().map(|c| format!("{} {}", c.reason.as_str(), c.field)).collect();
            assert_eq!(found, expect, "{change}");
        };
        let core =
            |kind: &str| json!({"scaleTargetRef": {"apiVersion": "v1", "kind": kind, "name": "a"}});
        let version = "FieldValueInvalid spec.scaleTargetRef.apiVersion";
        check(json!({}), &[]);
        check(core("ReplicationController"), &[]);
        check(core("Deployment"), &[version]);
        check(json!({"minReplicas": 4}), &["FieldValueInvalid spec.maxReplicas"]);
        check(
            json!({"minReplicas": null, "maxReplicas": 0}),
            &["FieldValueInvalid spec.maxReplicas"],
        );
        check(
            json!({"minReplicas": 0}),
            &["FieldValueInvalid spec.minReplicas", "FieldValueForbidden spec.metrics"],
        );
        check(
            json!({"scaleTargetRef": {"kind": "a/b", "name": null}}),
            &[
                "FieldValueInvalid spec.scaleTargetRef.kind",
                "FieldValueRequired spec.scaleTargetRef.name",
            ],
        );
        check(
            json!({"scaleTargetRef": null}),
            &[
                "FieldValueRequired spec.scaleTargetRef.kind",
                "FieldValueRequired spec.scaleTargetRef.name",
                version,
            ],
        );
    }

    #[test]
    fn statuses() {
        let check = |count: i64, expect: &[&str]| {
            let new =
                json!({"status": {"currentReplicas": count, "desiredReplicas": count}}).into();
            let causes = HorizontalPodAutoscaler.validate_update(
                Naming::Svc.names(),
                Part::Status,
                &Value::Null,
                &new,
            );
            assert_eq!(causes.iter().map(|cause| cause.field.as_str()).collect::<Vec<_>>(), expect);
        };
        check(0, &[]);
        check(-1, &["status.currentReplicas", "status.desiredReplicas"]);
    }

    #[test]
    fn defaults() {
        let mut object = Value::from(
            json!({"spec": {"maxReplicas": 3, "behavior": {"scaleDown": {"selectPolicy": "Min"}}}}),
        );
        HorizontalPodAutoscaler.default(Naming::Svc.names(), &mut object);
        let expect = json!({"spec": {"maxReplicas": 3, "minReplicas": 1,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}],
            "behavior": {
                "scaleDown": {"selectPolicy": "Min", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
                "scaleUp": {"selectPolicy": "Max", "stabilizationWindowSeconds": 0, "policies": [
                    {"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]}}}});
        assert_eq!(object, expect.into());
    }
}
