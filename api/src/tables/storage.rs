//! Cells of volumes and of what they come from, of flow control, of devices and of policies.

use quorate_meta::Value;

use super::join::{NONE, UNSET, condition, items, join, modes, selector, text, texts};
use super::special::Special;

/// The function of a column that has one.
pub(super) fn special(kind: &str, column: &str) -> Option<Special> {
    Some(match (kind, column) {
        ("PersistentVolume", "Access Modes") => {
            |object, _| modes(&texts(object, &["spec", "accessModes"])).into()
        }
        ("PersistentVolume", "Claim") => claim,
        ("PersistentVolume" | "PersistentVolumeClaim", "Status") => phase,
        ("PersistentVolume" | "PersistentVolumeClaim", "StorageClass") => class,
        ("PersistentVolumeClaim", "Capacity") => |object, _| {
            bound(object, || text(object, &["status", "capacity", "storage"]).to_owned())
        },
        ("PersistentVolumeClaim", "Access Modes") => {
            |object, _| bound(object, || modes(&texts(object, &["status", "accessModes"])))
        }
        ("StorageClass", "Name") => class_name,
        ("CSIDriver", "TokenRequests") => audiences,
        ("CSIDriver", "Modes") => {
            |object, _| join(&texts(object, &["spec", "volumeLifecycleModes"]), NONE).into()
        }
        ("FlowSchema", "MissingPL") => |object, _| {
            condition(object, "Dangling")
                .and_then(|found| found.get("status").cloned())
                .unwrap_or_else(|| "?".into())
        },
        ("PriorityLevelConfiguration", "NominalConcurrencyShares") => |object, _| {
            object
                .at(&["spec", "limited", "nominalConcurrencyShares"])
                .cloned()
                .unwrap_or_else(|| NONE.into())
        },
        ("PriorityLevelConfiguration", "HandSize") => |object, _| queuing(object, "handSize"),
        ("PriorityLevelConfiguration", "QueueLengthLimit") => {
            |object, _| queuing(object, "queueLengthLimit")
        }
        ("ResourceClaim", "State") => claim_state,
        ("ValidatingAdmissionPolicy", "ParamKind") => parameter_kind,
        ("ValidatingAdmissionPolicyBinding", "ParamRef") => parameter,
        _ => return None,
    })
}

fn claim(object: &Value, _now_ms: u64) -> Value {
    let Some(claim) = object.at(&["spec", "claimRef"]) else {
        return "".into();
    };
    format!("{}/{}", text(claim, &["namespace"]), text(claim, &["name"])).into()
}

fn phase(object: &Value, _now_ms: u64) -> Value {
    match text(object, &["metadata", "deletionTimestamp"]) {
        "" => text(object, &["status", "phase"]).into(),
        _ => "Terminating".into(),
    }
}

/// The class, which an annotation of old may name.
fn class(object: &Value, _now_ms: u64) -> Value {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_map);
    let is_class = |key: &str| key.starts_with("volume.beta.") && key.ends_with("/storage-class");
    let old = annotations
        .and_then(|map| map.iter().find(|(key, _)| is_class(key)))
        .and_then(|(_, value)| value.as_str());
    old.unwrap_or_else(|| text(object, &["spec", "storageClassName"])).into()
}

/// The name, with a mark at the class that claims without one get.
fn class_name(object: &Value, _now_ms: u64) -> Value {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_map);
    let is_mark =
        |key: &str| key.starts_with("storageclass.") && key.ends_with("/is-default-class");
    let marked = annotations.is_some_and(|map| {
        map.iter().any(|(key, value)| is_mark(key) && value.as_str() == Some("true"))
    });
    let name = text(object, &["metadata", "name"]);
    if marked { format!("{name} (default)").into() } else { name.into() }
}

fn bound(object: &Value, shown: impl Fn() -> String) -> Value {
    if text(object, &["spec", "volumeName"]).is_empty() { "".into() } else { shown().into() }
}

fn audiences(object: &Value, _now_ms: u64) -> Value {
    let requests = items(object, &["spec", "tokenRequests"])
        .iter()
        .map(|request| text(request, &["audience"]));
    join(&requests.collect::<Vec<_>>(), UNSET).into()
}

fn queuing(object: &Value, field: &str) -> Value {
    let found = object.at(&["spec", "limited", "limitResponse", "queuing", field]);
    found.cloned().unwrap_or_else(|| NONE.into())
}

fn claim_state(object: &Value, _now_ms: u64) -> Value {
    let going = !text(object, &["metadata", "deletionTimestamp"]).is_empty();
    let allocated = object.at(&["status", "allocation"]).is_some();
    let states = [
        (going, "deleted"),
        (!allocated && !going, "pending"),
        (allocated, "allocated"),
        (!items(object, &["status", "reservedFor"]).is_empty(), "reserved"),
    ];
    let states: Vec<&str> =
        states.into_iter().filter(|(holds, _)| *holds).map(|(_, state)| state).collect();
    join(&states, "").into()
}

fn parameter_kind(object: &Value, _now_ms: u64) -> Value {
    let Some(kind) = object.at(&["spec", "paramKind"]) else {
        return UNSET.into();
    };
    format!("{}/{}", text(kind, &["apiVersion"]), text(kind, &["kind"])).into()
}

fn parameter(object: &Value, _now_ms: u64) -> Value {
    let Some(parameter) = object.at(&["spec", "paramRef"]) else {
        return UNSET.into();
    };
    match (text(parameter, &["namespace"]), text(parameter, &["name"])) {
        (_, "") => selector(parameter.get("selector")).into(),
        ("", name) => format!("*/{name}").into(),
        (namespace, name) => format!("{namespace}/{name}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(kind: &str, column: &str, object: Json, expect: &str) {
        let cell = special(kind, column).expect("a special column")(&object.into(), 0);
        assert_eq!(cell, Value::from(expect), "{kind} {column}");
    }

    #[test]
    fn volumes_and_claims() {
        let volume = json!({"spec": {"accessModes": ["ReadWriteMany", "ReadWriteOnce"], "claimRef": {"namespace": "n", "name": "c"}}});
        check("PersistentVolume", "Access Modes", volume.clone(), "RWO,RWX");
        check("PersistentVolume", "Claim", volume, "n/c");
        check("PersistentVolume", "Claim", json!({}), "");
        let claim = |volume: &str| json!({"spec": {"volumeName": volume}, "status": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany"]}});
        check("PersistentVolumeClaim", "Capacity", claim("v"), "1Gi");
        check("PersistentVolumeClaim", "Access Modes", claim("v"), "ROX");
        check("PersistentVolumeClaim", "Capacity", claim(""), "");
        let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Bound"}});
        check("PersistentVolumeClaim", "Status", going, "Terminating");
        let old = json!({"metadata": {"annotations": {"volume.beta.svc.io/storage-class": "old"}}, "spec": {"storageClassName": "new"}});
        check("PersistentVolume", "StorageClass", old, "old");
    }

    #[test]
    fn others() {
        let class = |mark: &str| json!({"metadata": {"name": "c", "annotations": {"storageclass.svc.io/is-default-class": mark}}});
        check("StorageClass", "Name", class("true"), "c (default)");
        check("StorageClass", "Name", class("false"), "c");
        check(
            "CSIDriver",
            "TokenRequests",
            json!({"spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}]}}),
            "a,b",
        );
        check("CSIDriver", "TokenRequests", json!({"spec": {}}), "<unset>");
        check("FlowSchema", "MissingPL", json!({}), "?");
        check("PriorityLevelConfiguration", "HandSize", json!({}), "<none>");
        check(
            "ResourceClaim",
            "State",
            json!({"status": {"allocation": {}, "reservedFor": [{}]}}),
            "allocated,reserved",
        );
        check("ResourceClaim", "State", json!({}), "pending");
        let parameter = |parameter: Json| json!({"spec": {"paramRef": parameter}});
        check(
            "ValidatingAdmissionPolicyBinding",
            "ParamRef",
            parameter(json!({"name": "p"})),
            "*/p",
        );
        check(
            "ValidatingAdmissionPolicyBinding",
            "ParamRef",
            parameter(json!({"selector": {"matchLabels": {"a": "b"}}})),
            "a=b",
        );
        check("ValidatingAdmissionPolicyBinding", "ParamRef", json!({}), "<unset>");
    }
}
