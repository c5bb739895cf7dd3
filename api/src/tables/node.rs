//! The cells of Nodes.

use quorate_meta::Value;

use super::special::Special;

const NONE: &str = "<none>";

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "Status" => status,
        "Internal-IP" => |object, _| address(object, "InternalIP"),
        "External-IP" => |object, _| address(object, "ExternalIP"),
        _ => return None,
    })
}

/// The roles that labels give: those whose key begins with the prefix, and the value of one label.
pub(super) fn roles(object: &Value, prefix: &str, label: &str) -> Value {
    let labels = object
        .at(&["metadata", "labels"])
        .and_then(Value::as_map)
        .into_iter()
        .flat_map(|labels| labels.iter());
    let role = |(key, value): (&'_ str, &'_ Value)| match key.strip_prefix(prefix) {
        Some(role) => Some(role.to_owned()),
        None if key == label => value.as_str().map(str::to_owned),
        None => None,
    };
    let mut roles: Vec<String> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    roles.sort();
    roles.dedup();
    if roles.is_empty() { NONE.into() } else { roles.join(",").into() }
}

fn status(object: &Value, _now_ms: u64) -> Value {
    let conditions =
        object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.str_at(&["type"]) == Some("Ready"));
    let word = match ready.map(|ready| ready.str_at(&["status"]) == Some("True")) {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    let closed = object.at(&["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true);
    if closed { format!("{word},SchedulingDisabled").into() } else { word.into() }
}

fn address(object: &Value, kind: &str) -> Value {
    let addresses =
        object.at(&["status", "addresses"]).and_then(Value::as_list).unwrap_or_default();
    let found = addresses.iter().find(|address| address.str_at(&["type"]) == Some(kind));
    found.and_then(|address| address.get("address")).cloned().unwrap_or_else(|| NONE.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells() {
        let object = Value::from(json!({
            "metadata": {"labels": {"node-role.svc.io/worker": "", "node-role.svc.io/edge": "", "svc.io/role": "edge", "x": "y"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "False"}], "addresses": [{"type": "InternalIP", "address": "10.5.5.5"}]}
        }));
        assert_eq!(roles(&object, "node-role.svc.io/", "svc.io/role"), "edge,worker".into());
        assert_eq!(roles(&object, "other/", "none"), NONE.into());
        assert_eq!(status(&object, 0), "NotReady,SchedulingDisabled".into());
        assert_eq!(
            (address(&object, "InternalIP"), address(&object, "ExternalIP")),
            ("10.5.5.5".into(), NONE.into())
        );
    }
}
