//! MetricSpec: metrics of five types, each with a source and a target.

use quorate_meta::{Cause, name};

use super::horizontal_pod_autoscaler::check_reference;
use crate::field::Field;

/// Field and type of each source, in the order in which a second one is reported.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];
/// The metric types in alphabetical order, as messages list them.
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
const TARGET_TYPES: [&str; 3] = ["Utilization", "Value", "AverageValue"];

/// Checks the metrics; `to_zero` requires one that has a value without pods (`minReplicas: 0`).
pub(super) fn check(metrics: &Field<'_>, to_zero: bool, causes: &mut Vec<Cause>) {
    metrics.items().for_each(|metric| check_metric(&metric, causes));
    let outside = |metric: Field<'_>| matches!(metric.get("type").text(), "Object" | "External");
    if to_zero && !metrics.items().any(outside) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        causes.push(metrics.forbidden(why));
    }
}

fn check_metric(metric: &Field<'_>, causes: &mut Vec<Cause>) {
    let kind = metric.get("type");
    if kind.is_empty() {
        causes.push(kind.required("must specify a metric source type"));
    }
    if !TYPES.contains(&kind.text()) {
        causes.push(kind.not_supported(&TYPES));
    }
    let present: Vec<&(&str, &str)> =
        SOURCES.iter().filter(|(field, _)| metric.get(field).is_set()).collect();
    if let Some((field, _)) = present.first() {
        check_source(field, &metric.get(field), causes);
    }
    let expected = SOURCES.iter().find(|(_, name)| *name == kind.text());
    if let Some((field, _)) = expected.filter(|(field, _)| !metric.get(field).is_set()) {
        causes.push(
            metric.get(field).required("must populate information for the given metric source"),
        );
    }
    if present.len() != 1 {
        for (field, _) in present.into_iter().filter(|source| Some(*source) != expected) {
            causes.push(metric.get(field).forbidden("must populate the given metric source only"));
        }
    }
}

fn check_source(name: &str, source: &Field<'_>, causes: &mut Vec<Cause>) {
    if name == "object" {
        check_reference(&source.get("describedObject"), causes);
    }
    if matches!(name, "resource" | "containerResource") {
        check_named(&source.get("name"), "must specify a resource name", causes);
    } else {
        check_identifier(&source.get("metric.name"), causes);
    }
    if name == "containerResource" {
        check_named(&source.get("container"), "must specify a container", causes);
    }
    let target = source.get("target");
    check_target(&target, causes);
    let (value, average) = (target.get("value"), target.get("averageValue"));
    let utilization = target.get("averageUtilization");
    match name {
        "object" if !value.is_set() && !average.is_set() => {
            causes.push(average.required("must set either a target value or averageValue"));
        }
        "external" if !value.is_set() && !average.is_set() => {
            causes.push(
                average.required("must set either a target value for metric or a per-pod target"),
            );
        }
        "external" if value.is_set() && average.is_set() => {
            causes.push(
                value.forbidden("may not set both a target value for metric and a per-pod target"),
            );
        }
        "pods" if !is_positive(&average) => {
            causes.push(average.required("must specify a positive target averageValue"));
        }
        "resource" | "containerResource" if !utilization.is_set() && !average.is_set() => {
            causes.push(
                utilization.required("must set either a target raw value or a target utilization"),
            );
        }
        "resource" | "containerResource" if utilization.is_set() && average.is_set() => {
            causes.push(
                average.forbidden("may not set both a target raw value and a target utilization"),
            );
        }
        _ => {}
    }
}

fn check_named(field: &Field<'_>, why: &str, causes: &mut Vec<Cause>) {
    if field.is_empty() {
        causes.push(field.required(why));
    }
}

fn check_identifier(field: &Field<'_>, causes: &mut Vec<Cause>) {
    check_named(field, "must specify a metric name", causes);
    causes.extend(field.invalid_for(&name::path_segment(field.text())));
}

fn check_target(target: &Field<'_>, causes: &mut Vec<Cause>) {
    let kind = target.get("type");
    if kind.is_empty() {
        causes.push(kind.required("must specify a metric target type"));
    }
    if !TARGET_TYPES.contains(&kind.text()) {
        causes.push(kind.invalid("must be either Utilization, Value, or AverageValue"));
    }
    for amount in [target.get("value"), target.get("averageValue")] {
        if amount.is_set() && !is_positive(&amount) {
            causes.push(amount.invalid("must be positive"));
        }
    }
    let utilization = target.get("averageUtilization");
    if utilization.int().is_some_and(|percent| percent < 1) {
        causes.push(utilization.invalid("must be greater than 0"));
    }
}

/// Whether a canonical quantity is positive: only zero begins with a zero and has no more digits.
fn is_positive(amount: &Field<'_>) -> bool {
    let text = amount.text();
    !text.is_empty() && text != "0" && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Value;
    use serde_json::json;

    #[track_caller]
    fn check(metric: serde_json::Value, expect: &[&str]) {
        let object = Value::from(json!({"m": [metric]}));
        let mut causes = Vec::new();
        super::check(&Field::root(&object).get("m"), false, &mut causes);
        let found: Vec<String> = causes
            .iter()
            .map(|c| format!("{} {}", c.reason.as_str(), c.field.trim_start_matches("m[0].")))
            .collect();
        assert_eq!(found, expect, "{metric}");
    }

    #[test]
    fn types_and_sources() {
        let cpu =
            json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}});
        check(json!({"type": "Resource", "resource": cpu}), &[]);
        check(json!({"type": "Odd"}), &["FieldValueNotSupported type"]);
        check(json!({"type": "Resource"}), &["FieldValueRequired resource"]);
        check(json!({"type": "Pods", "resource": cpu}), &["FieldValueRequired pods"]);
        check(
            json!({"resource": cpu}),
            &["FieldValueRequired type", "FieldValueNotSupported type"],
        );
        let pods = json!({"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}});
        check(
            json!({"type": "Resource", "resource": cpu, "pods": pods}),
            &["FieldValueForbidden pods"],
        );
    }

    #[test]
    fn targets() {
        let resource = |target: serde_json::Value| json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        let path =
            |reason: &str, field: &str| format!("FieldValue{reason} resource.target.{field}");
        let neither = path("Required", "averageUtilization");
        check(resource(json!({"type": "Utilization"})), &[&neither]);
        check(
            resource(json!({})),
            &[&path("Required", "type"), &path("Invalid", "type"), &neither],
        );
        let both = json!({"type": "Utilization", "averageUtilization": 5, "averageValue": "5"});
        check(resource(both), &[&path("Forbidden", "averageValue")]);
        check(
            resource(json!({"type": "Utilization", "averageUtilization": 0})),
            &[&path("Invalid", "averageUtilization")],
        );
        check(
            resource(json!({"type": "AverageValue", "averageValue": "0"})),
            &[&path("Invalid", "averageValue")],
        );
    }

    #[test]
    fn sources_of_their_own_kind() {
        let of =
            |kind: &str, name: &str, source: serde_json::Value| json!({"type": kind, name: source});
        check(
            of("Object", "object", json!({"metric": {"name": "a/b"}, "target": {"type": "Value"}})),
            &[
                "FieldValueRequired object.describedObject.kind",
                "FieldValueRequired object.describedObject.name",
                "FieldValueInvalid object.metric.name",
                "FieldValueRequired object.target.averageValue",
            ],
        );
        let both = json!({"metric": {"name": "e"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}});
        check(of("External", "external", both), &["FieldValueForbidden external.target.value"]);
        check(
            of("Pods", "pods", json!({"metric": {}, "target": {"type": "AverageValue"}})),
            &["FieldValueRequired pods.metric.name", "FieldValueRequired pods.target.averageValue"],
        );
        check(
            of(
                "ContainerResource",
                "containerResource",
                json!({"target": {"type": "AverageValue", "averageValue": "1"}}),
            ),
            &[
                "FieldValueRequired containerResource.name",
                "FieldValueRequired containerResource.container",
            ],
        );
    }
}
