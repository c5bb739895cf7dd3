//! The metrics annotations of autoscaling/v1, and the same metrics in v2.
//!
//! v1 has one flat message for each type of metric; v2 nests identifier, target and current values.
//! One table of fields defines both directions; fields outside the table are not converted.

use quorate_meta::{Map, Value};

/// A field of v1 and its path in v2, below the message of the metric type.
type FieldPair = (&'static str, &'static [&'static str]);

const TARGETS: [(&str, &[FieldPair]); 5] = [
    (
        "object",
        &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("averageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "resource",
        &[
            ("name", &["name"]),
            ("targetAverageUtilization", &["target", "averageUtilization"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", &["name"]),
            ("container", &["container"]),
            ("targetAverageUtilization", &["target", "averageUtilization"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "external",
        &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
];

const CURRENTS: [(&str, &[FieldPair]); 5] = [
    (
        "object",
        &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("currentValue", &["current", "value"]),
            ("averageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "resource",
        &[
            ("name", &["name"]),
            ("currentAverageUtilization", &["current", "averageUtilization"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", &["name"]),
            ("container", &["container"]),
            ("currentAverageUtilization", &["current", "averageUtilization"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "external",
        &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("currentValue", &["current", "value"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
];

/// A metric of the specification in the form of v1.
pub(super) fn spec_to_v1(metric: &Value) -> Value {
    to_v1(metric, &TARGETS)
}

/// A metric of the status in the form of v1.
pub(super) fn status_to_v1(metric: &Value) -> Value {
    to_v1(metric, &CURRENTS)
}

/// A metric of the specification in the form of v2, with the target type that its value implies.
pub(super) fn spec_to_v2(metric: &Value) -> Value {
    let mut metric = to_v2(metric, &TARGETS);
    for (message, _) in TARGETS {
        let Some(target) = metric.at_mut(&[message, "target"]).and_then(Value::as_map_mut) else {
            continue;
        };
        let kind = match () {
            () if target.contains_key("averageUtilization") => "Utilization",
            () if target.contains_key("averageValue") => "AverageValue",
            () => "Value",
        };
        target.insert("type", kind);
    }
    metric
}

/// A metric of the status in the form of v2.
pub(super) fn status_to_v2(metric: &Value) -> Value {
    to_v2(metric, &CURRENTS)
}

fn to_v1(metric: &Value, table: &[(&str, &[FieldPair])]) -> Value {
    convert(metric, table, |message, (flat, path)| Some((vec![flat], message.at(path)?.clone())))
}

fn to_v2(metric: &Value, table: &[(&str, &[FieldPair])]) -> Value {
    convert(metric, table, |message, (flat, path)| {
        Some((path.to_vec(), message.get(flat)?.clone()))
    })
}

fn convert(
    metric: &Value,
    table: &[(&str, &[FieldPair])],
    step: impl Fn(&Value, FieldPair) -> Option<(Vec<&'static str>, Value)>,
) -> Value {
    let mut converted = Value::Map(Map::new());
    if let Some(kind) = metric.get("type") {
        converted.set_at(&["type"], kind.clone());
    }
    for (name, pairs) in table {
        let Some(message) = metric.get(name).filter(|message| message.as_map().is_some()) else {
            continue;
        };
        converted.set_at(&[name], Map::new());
        for (path, value) in pairs
            .iter()
            .filter_map(|pair| step(message, *pair))
            .filter(|(_, value)| !value.is_null())
        {
            converted.set_at(&[&[*name], path.as_slice()].concat(), value);
        }
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_type_there_and_back() {
        let check = |v1: serde_json::Value, v2: serde_json::Value| {
            let (v1, v2) = (Value::from(v1), Value::from(v2));
            assert_eq!((spec_to_v1(&v2), spec_to_v2(&v1)), (v1, v2));
        };
        check(
            json!({"type": "Object", "object": {"target": {"kind": "Service", "name": "s"}, "metricName": "o", "targetValue": "2k"}}),
            json!({"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "o"},
                "target": {"type": "Value", "value": "2k"}}}),
        );
        check(
            json!({"type": "External", "external": {"metricName": "e", "metricSelector": {}, "targetAverageValue": "3"}}),
            json!({"type": "External", "external": {"metric": {"name": "e", "selector": {}}, "target": {"type": "AverageValue", "averageValue": "3"}}}),
        );
        check(
            json!({"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c", "targetAverageUtilization": 5}}),
            json!({"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c",
                "target": {"type": "Utilization", "averageUtilization": 5}}}),
        );
    }
}
