//! The conversion between HorizontalPodAutoscaler v1 and v2.
//!
//! v1 has one metric, the average CPU utilization. The v1 form carries the other fields of v2 in
//! annotations, as JSON, so that a client of v1 that writes back what it has read changes nothing. Of
//! several metrics of that sort the first one is v1's.

use quorate_meta::{Map, Names, Value};
use quorate_wire::json;

use super::horizontal_pod_autoscaler::default_spec;
use super::{behavior_conversion, metric_conversion};
use quorate_registry::Conversion;

/// The conversion between v1 and v2, with the names of the annotations.
#[derive(Debug)]
pub(super) struct HorizontalPodAutoscalerConversion {
    metrics: String,
    /// Where among the other metrics the one of v1 stands, if not where [`usual_place`] says.
    place: String,
    current_metrics: String,
    behavior: String,
    conditions: String,
}

impl HorizontalPodAutoscalerConversion {
    pub(super) fn new(names: &Names) -> Self {
        let key = |name: &str| format!("autoscaling.alpha.{}", names.domain_key(name));
        Self {
            metrics: key("metrics"),
            place: key("cpu-metric-index"),
            current_metrics: key("current-metrics"),
            behavior: key("behavior"),
            conditions: key("conditions"),
        }
    }

    fn annotations(&self) -> [&str; 5] {
        [&self.metrics, &self.place, &self.current_metrics, &self.behavior, &self.conditions]
    }
}

impl Conversion for HorizontalPodAutoscalerConversion {
    fn to_stored(&self, object: &mut Value) {
        let carried = |key: &str| {
            let (value, _) =
                json::parse(object.str_at(&["metadata", "annotations", key])?.as_bytes()).ok()?;
            Some(value)
        };
        let list = |key: &str| {
            carried(key)
                .and_then(|value| value.as_list().map(<[Value]>::to_vec))
                .unwrap_or_default()
        };
        let mut metrics: Vec<Value> =
            list(&self.metrics).iter().map(metric_conversion::spec_to_v2).collect();
        let statuses: Vec<Value> =
            list(&self.current_metrics).iter().map(metric_conversion::status_to_v2).collect();
        let (conditions, behavior) = (list(&self.conditions), carried(&self.behavior));
        let place = carried(&self.place).and_then(|place| usize::try_from(place.as_i64()?).ok());
        self.drop_annotations(object);
        let Some(map) = object.as_map_mut() else {
            return;
        };
        if let Some(spec) = map.map_mut("spec") {
            if let Some(percent) =
                spec.remove("targetCPUUtilizationPercentage").filter(|value| !value.is_null())
            {
                let target = [("averageUtilization", percent), ("type", "Utilization".into())];
                let usual = usual_place(&metrics);
                let at = place.unwrap_or(usual).min(usual);
                metrics.insert(at, cpu_metric("target", target.into()));
            }
            put(spec, "metrics", metrics);
            if let Some(behavior) = behavior.as_ref().and_then(behavior_conversion::to_v2) {
                spec.insert("behavior", behavior);
            }
            default_spec(spec);
        }
        if let Some(status) = map.map_mut("status") {
            let percent =
                status.remove("currentCPUUtilizationPercentage").filter(|value| !value.is_null());
            status_to_stored(status, statuses, percent, conditions);
        }
    }

    fn to_served(&self, object: &mut Value) {
        let Some(map) = object.as_map_mut() else {
            return;
        };
        let (mut metrics, mut place, mut behavior) = (Vec::new(), None, None);
        if let Some(spec) = map.map_mut("spec") {
            metrics = take_list(spec, "metrics");
            behavior = spec.remove("behavior").filter(|value| !value.is_null());
            let cpu = metrics.iter().position(|metric| utilization(metric, "target").is_some());
            if let Some(at) = cpu
                && let Some(percent) = utilization(&metrics.remove(at), "target").cloned()
            {
                spec.insert("targetCPUUtilizationPercentage", percent);
                place = Some(at).filter(|at| *at != usual_place(&metrics));
            }
        }
        let (mut statuses, mut conditions) = (Vec::new(), Vec::new());
        if let Some(status) = map.map_mut("status") {
            (statuses, conditions) =
                (take_list(status, "currentMetrics"), take_list(status, "conditions"));
            status.get_or_insert_with("currentReplicas", || 0.into());
            status.get_or_insert_with("desiredReplicas", || 0.into());
            if let Some(percent) = statuses.iter().find_map(|metric| utilization(metric, "current"))
            {
                status.insert("currentCPUUtilizationPercentage", percent.clone());
            }
        }
        let metrics = metrics.iter().map(metric_conversion::spec_to_v1).collect();
        let statuses = statuses.iter().map(metric_conversion::status_to_v1).collect();
        for (key, list) in [
            (&self.metrics, metrics),
            (&self.current_metrics, statuses),
            (&self.conditions, conditions),
        ] {
            if !list.is_empty() {
                annotate(
                    map,
                    key,
                    String::from_utf8_lossy(&json::to_vec(&Value::List(list))).into_owned(),
                );
            }
        }
        if let Some(place) = place {
            annotate(map, &self.place, place.to_string());
        }
        if let Some(behavior) = behavior.filter(|behavior| !behavior.is_empty()) {
            annotate(map, &self.behavior, behavior_conversion::to_v1(&behavior));
        }
    }
}

impl HorizontalPodAutoscalerConversion {
    fn drop_annotations(&self, object: &mut Value) {
        let Some(annotations) =
            object.at_mut(&["metadata", "annotations"]).and_then(Value::as_map_mut)
        else {
            return;
        };
        annotations.retain(|key, _| !self.annotations().contains(&key));
        if annotations.is_empty() {
            object.remove_at(&["metadata", "annotations"]);
        }
    }
}

fn annotate(object: &mut Map, key: &str, text: String) {
    if let Some(annotations) =
        object.map_mut("metadata").and_then(|metadata| metadata.map_mut("annotations"))
    {
        annotations.insert(key, text);
    }
}

/// The status of v2. The metric that v1 has a field for is not repeated among the others.
fn status_to_stored(
    status: &mut Map,
    mut metrics: Vec<Value>,
    percent: Option<Value>,
    conditions: Vec<Value>,
) {
    if let Some(percent) = percent {
        match metrics.iter_mut().find(|metric| utilization(metric, "current").is_some()) {
            Some(metric) => {
                metric.set_at(&["resource", "current", "averageUtilization"], percent);
            }
            None => {
                metrics.insert(0, cpu_metric("current", [("averageUtilization", percent)].into()))
            }
        }
    }
    if status.get("currentReplicas").is_some_and(|value| *value == Value::Int(0)) {
        status.remove("currentReplicas");
    }
    status.get_or_insert_with("desiredReplicas", || 0.into());
    status.insert("currentMetrics", if metrics.is_empty() { Value::Null } else { metrics.into() });
    put(status, "conditions", conditions);
}

/// Where the metric of v1 is put among the others: last, but before every other one of its sort, so
/// that what a client of v1 writes is what clients of v1 read.
fn usual_place(others: &[Value]) -> usize {
    let same = others.iter().position(|metric| utilization(metric, "target").is_some());
    same.unwrap_or(others.len())
}

/// The average CPU utilization in a metric, in percent.
fn utilization<'v>(metric: &'v Value, part: &str) -> Option<&'v Value> {
    let is_cpu = metric.str_at(&["type"]) == Some("Resource")
        && metric.str_at(&["resource", "name"]) == Some("cpu");
    metric.at(&["resource", part, "averageUtilization"]).filter(|value| is_cpu && !value.is_null())
}

fn cpu_metric(part: &str, value: Map) -> Value {
    let resource = Map::from([("name", Value::from("cpu")), (part, Value::Map(value))]);
    Value::Map(Map::from([("resource", Value::Map(resource)), ("type", "Resource".into())]))
}

fn put(map: &mut Map, key: &str, list: Vec<Value>) {
    if list.is_empty() {
        map.remove(key);
    } else {
        map.insert(key, list);
    }
}

fn take_list(map: &mut Map, key: &str) -> Vec<Value> {
    match map.remove(key) {
        Some(Value::List(list)) => list,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[track_caller]
    fn check(v2: serde_json::Value, expect: serde_json::Value) {
        let convert = HorizontalPodAutoscalerConversion::new(Naming::Svc.names());
        let stored = Value::from(v2);
        let mut object = stored.clone();
        convert.to_served(&mut object);
        assert_eq!(serde_json::to_value(&object).unwrap(), expect);
        convert.to_stored(&mut object);
        assert_eq!(object, stored, "and back");
    }

    #[test]
    fn the_one_metric_of_v1() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}});
        let now = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "3m"}}});
        let kept = r#"[{"resource":{"currentAverageUtilization":40,"currentAverageValue":"3m","name":"cpu"},"type":"Resource"}]"#;
        check(
            json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "minReplicas": 1, "metrics": [cpu]},
                "status": {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": [now]}}),
            json!({"metadata": {"name": "a", "annotations": {"autoscaling.alpha.svc.io/current-metrics": kept}},
                "spec": {"maxReplicas": 3, "minReplicas": 1, "targetCPUUtilizationPercentage": 70},
                "status": {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40}}),
        );
    }

    #[test]
    fn several_metrics_keep_their_order_and_the_first_one_is_that_of_v1() {
        let convert = HorizontalPodAutoscalerConversion::new(Naming::Svc.names());
        let cpu = |percent: i64| {
            json!({"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": percent}}})
        };
        let memory = json!({"type": "Resource", "resource": {"name": "memory",
            "target": {"type": "AverageValue", "averageValue": "1Gi"}}});
        let check = |metrics: &[serde_json::Value], place: Option<&str>| {
            let stored = Value::from(
                json!({"metadata": {}, "spec": {"minReplicas": 1, "metrics": metrics}}),
            );
            let mut object = stored.clone();
            convert.to_served(&mut object);
            let annotation = "autoscaling.alpha.svc.io/cpu-metric-index";
            assert_eq!(
                object.str_at(&["metadata", "annotations", annotation]),
                place,
                "{metrics:?}"
            );
            let mut back = object.clone();
            convert.to_stored(&mut back);
            assert_eq!(back.get("spec"), stored.get("spec"), "a write that changes nothing");
            // What v1 writes v1 reads.
            object.set_at(&["spec", "targetCPUUtilizationPercentage"], 33);
            convert.to_stored(&mut object);
            convert.to_served(&mut object);
            let read = object.at(&["spec", "targetCPUUtilizationPercentage"]);
            assert_eq!(read, Some(&Value::Int(33)), "{metrics:?}");
        };
        check(&[cpu(50)], None);
        check(&[cpu(50), cpu(80)], None);
        check(&[memory.clone(), cpu(50)], None);
        check(&[memory.clone(), cpu(50), cpu(80)], None);
        check(&[cpu(50), memory.clone()], Some("0"));
        check(&[memory.clone(), cpu(50), memory.clone(), cpu(80)], Some("1"));
        check(&[cpu(50), memory.clone(), cpu(80), memory], Some("0"));
    }

    #[test]
    fn a_place_that_cannot_be_is_left_alone() {
        let convert = HorizontalPodAutoscalerConversion::new(Naming::Svc.names());
        for place in ["7", "-1", "x", "null", "9999999999999999999999"] {
            let mut object = Value::from(json!({"metadata": {"annotations": {
                "autoscaling.alpha.svc.io/cpu-metric-index": place}},
                "spec": {"targetCPUUtilizationPercentage": 5}}));
            convert.to_stored(&mut object);
            let metrics = object.at(&["spec", "metrics"]).and_then(Value::as_list);
            assert_eq!(metrics.map(<[Value]>::len), Some(1), "{place}");
            assert!(object.at(&["metadata", "annotations"]).is_none(), "{place}");
        }
    }

    #[test]
    fn annotations_carry_fields_that_v1_lacks() {
        let other = json!({"type": "Pods", "pods": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "AverageValue", "averageValue": "5"}}});
        let rules =
            json!({"policies": [], "selectPolicy": "Disabled", "stabilizationWindowSeconds": 0});
        let behavior = json!({"scaleDown": rules, "scaleUp": rules});
        let condition =
            json!({"lastTransitionTime": null, "status": "True", "type": "AbleToScale"});
        check(
            json!({"metadata": {"annotations": {"k": "v"}}, "spec": {"minReplicas": 1, "metrics": [other], "behavior": behavior},
                "status": {"currentMetrics": null, "desiredReplicas": 0, "conditions": [condition]}}),
            json!({"metadata": {"annotations": {"k": "v",
                "autoscaling.alpha.svc.io/metrics": r#"[{"pods":{"metricName":"m","selector":{"matchLabels":{"a":"b"}},"targetAverageValue":"5"},"type":"Pods"}]"#,
                "autoscaling.alpha.svc.io/behavior": r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Disabled","Policies":[],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":0,"SelectPolicy":"Disabled","Policies":[],"Tolerance":null}}"#,
                "autoscaling.alpha.svc.io/conditions": r#"[{"lastTransitionTime":null,"status":"True","type":"AbleToScale"}]"#}},
                "spec": {"minReplicas": 1}, "status": {"currentReplicas": 0, "desiredReplicas": 0}}),
        );
    }

    #[test]
    fn the_target_of_v1_joins_the_annotations() {
        let convert = HorizontalPodAutoscalerConversion::new(Naming::Svc.names());
        let mut object =
            Value::from(json!({"metadata": {"annotations": {"autoscaling.alpha.svc.io/metrics":
            r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]"#}},
            "spec": {"targetCPUUtilizationPercentage": 5}}));
        convert.to_stored(&mut object);
        let names: Vec<&str> = object
            .at(&["spec", "metrics"])
            .and_then(Value::as_list)
            .unwrap()
            .iter()
            .filter_map(|metric| metric.str_at(&["resource", "name"]))
            .collect();
        assert_eq!(names, ["memory", "cpu"]);
        assert!(object.at(&["metadata", "annotations"]).is_none());
    }
}
