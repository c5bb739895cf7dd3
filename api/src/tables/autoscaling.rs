//! The cells of HorizontalPodAutoscalers: what they aim at, and how far they are from it.

use quorate_meta::Value;

use super::special::Special;

const UNKNOWN: &str = "<unknown>";
const AUTO: &str = "<auto>";
/// Metrics that are shown.
const SHOWN: usize = 2;

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "Reference" => |object, _| {
            let text =
                |field: &str| object.str_at(&["spec", "scaleTargetRef", field]).unwrap_or_default();
            format!("{}/{}", text("kind"), text("name")).into()
        },
        "Targets" => |object, _| targets(object),
        _ => return None,
    })
}

fn targets(object: &Value) -> Value {
    let list = |path: &[&str]| object.at(path).and_then(Value::as_list).unwrap_or_default();
    let (metrics, current) = (list(&["spec", "metrics"]), list(&["status", "currentMetrics"]));
    if metrics.is_empty() {
        return "<none>".into();
    }
    let texts: Vec<String> =
        metrics.iter().enumerate().map(|(at, metric)| target(metric, current.get(at))).collect();
    let shown = texts[..texts.len().min(SHOWN)].join(", ");
    match texts.len().saturating_sub(SHOWN) {
        0 => shown.into(),
        more => format!("{shown} + {more} more...").into(),
    }
}

/// One metric: its current value and the wished one.
fn target(metric: &Value, current: Option<&Value>) -> String {
    let kind = metric.str_at(&["type"]).unwrap_or_default();
    let field = match kind {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let wished =
        |value: &str| metric.at(&[field, "target", value]).filter(|value| !value.is_null());
    let now = |value: &str| {
        current
            .and_then(|current| current.at(&[field, "current", value]))
            .filter(|value| !value.is_null())
    };
    let text = |value: Option<&Value>, missing: &str| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Int(number)) => format!("{number}%"),
        _ => missing.to_owned(),
    };
    let pair = |value: &str| format!("{}/{}", text(now(value), UNKNOWN), text(wished(value), AUTO));
    match field {
        "pods" => pair("averageValue"),
        "external" | "object" if wished("averageValue").is_some() => {
            format!("{} (avg)", pair("averageValue"))
        }
        "external" | "object" => pair("value"),
        _ => {
            let name = metric.str_at(&[field, "name"]).unwrap_or_default();
            let value = if wished("averageValue").is_some() {
                "averageValue"
            } else {
                "averageUtilization"
            };
            format!("{name}: {}", pair(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_aimed_at() {
        let check = |metrics: serde_json::Value, current: serde_json::Value, expect: &str| {
            let object =
                json!({"spec": {"metrics": metrics}, "status": {"currentMetrics": current}});
            assert_eq!(targets(&object.into()), expect.into());
        };
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "5"}}});
        let external = json!({"type": "External", "external": {"target": {"averageValue": "3"}}});
        check(json!([]), json!(null), "<none>");
        check(json!([cpu]), json!(null), "cpu: <unknown>/80%");
        check(
            json!([cpu]),
            json!([{"resource": {"current": {"averageUtilization": 40}}}]),
            "cpu: 40%/80%",
        );
        check(
            json!([external, pods, cpu]),
            json!(null),
            "<unknown>/3 (avg), <unknown>/5 + 1 more...",
        );
    }
}
