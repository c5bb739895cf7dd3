//! What a cluster gives to one object at a time: addresses and ports of services, volumes of claims, nodes of pods.
//!
//! It is kept where it is free, and dropped otherwise, with a note.

use quorate_meta::Value;

use super::Candidate;
use crate::command::past::session::Session;

/// How annotations of claims end that say of a volume what is so no more without it.
const CLAIM_ANNOTATIONS: [&str; 2] = ["/bind-completed", "/bound-by-controller"];

/// Drops what names something that is gone; gives the notes.
pub(super) async fn check(
    session: &mut Session,
    candidate: &Candidate,
    object: &mut Value,
) -> Vec<String> {
    let mut notes = Vec::new();
    if candidate.is("", "Pod") {
        let Some(node) = object.str_at(&["spec", "nodeName"]).map(str::to_owned) else {
            return notes;
        };
        if live(session, "Node", None, &node).await.is_none() {
            object.remove_at(&["spec", "nodeName"]);
            notes.push(format!("its node {node} is gone and was dropped"));
        }
    } else if candidate.is("", "PersistentVolumeClaim") {
        let Some(volume) = object.str_at(&["spec", "volumeName"]).map(str::to_owned) else {
            return notes;
        };
        let found = live(session, "PersistentVolume", None, &volume).await;
        notes.extend(fit_claim(candidate, object, &volume, found.as_ref()));
    } else if candidate.is("", "PersistentVolume") {
        let text = |field: &str| object.str_at(&["spec", "claimRef", field]).map(str::to_owned);
        let (namespace, name, uid) = (text("namespace"), text("name"), text("uid"));
        let Some(name) = name else { return notes };
        let claim = live(session, "PersistentVolumeClaim", namespace.as_deref(), &name).await;
        let now = claim.as_ref().and_then(|claim| claim.str_at(&["metadata", "uid"]));
        if now != uid.as_deref() {
            // Bound to the name: the binder fills in the uid of the claim that comes.
            object.remove_at(&["spec", "claimRef", "uid"]);
            object.remove_at(&["spec", "claimRef", "resourceVersion"]);
            notes.push(format!("its claim {name} is another one now, or gone"));
        }
    }
    notes
}

/// A claim keeps its volume unless that is gone or another's.
fn fit_claim(
    candidate: &Candidate,
    object: &mut Value,
    volume: &str,
    found: Option<&Value>,
) -> Option<String> {
    let claim = found.and_then(|found| found.at(&["spec", "claimRef"]));
    let of = |field: &str| claim.and_then(|claim| claim.str_at(&[field]));
    let is_own = claim.is_none()
        || (of("name") == Some(candidate.name.as_str())
            && of("namespace") == candidate.namespace.as_deref());
    if found.is_some() && is_own {
        // The claim that comes back has another uid than every one before it.
        let other = of("uid").is_some_and(|uid| !uid.is_empty());
        return other.then(|| {
            format!("its volume {volume} is still bound to the claim that was deleted: clear spec.claimRef.uid there")
        });
    }
    object.remove_at(&["spec", "volumeName"]);
    let annotations = object.at_mut(&["metadata", "annotations"]).and_then(Value::as_map_mut);
    if let Some(annotations) = annotations {
        annotations.retain(|key, _| !CLAIM_ANNOTATIONS.iter().any(|ending| key.ends_with(ending)));
    }
    let why = if found.is_some() { "is another claim's" } else { "is gone" };
    Some(format!("its volume {volume} {why} and was dropped"))
}

/// What is there of a core kind. What the user may not read counts as gone.
async fn live(
    session: &mut Session,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> Option<Value> {
    let path = session.resources.of_kind("v1", kind)?.object(namespace, name);
    session.client.find(&path).await.ok().flatten()
}

/// Drops what the server has said is taken; gives the notes, none when nothing of it is at fault.
pub(super) fn drop_taken(
    candidate: &Candidate,
    object: &mut Value,
    fields: &[&str],
) -> Vec<String> {
    let mut notes = Vec::new();
    if !candidate.is("", "Service") {
        return notes;
    }
    if fields.iter().any(|field| field.starts_with("spec.clusterIP")) {
        let address = object.remove_at(&["spec", "clusterIP"]);
        object.remove_at(&["spec", "clusterIPs"]);
        let address = address.as_ref().and_then(Value::as_str).unwrap_or_default();
        notes.push(format!("its address {address} is taken and was dropped"));
    }
    if fields.contains(&"spec.healthCheckNodePort") {
        object.remove_at(&["spec", "healthCheckNodePort"]);
        notes.push("its health check port is taken and was dropped".to_owned());
    }
    let ports = object.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut);
    for (at, port) in ports.into_iter().flatten().enumerate() {
        if fields.iter().any(|field| *field == format!("spec.ports[{at}].nodePort")) {
            let number = port.remove_at(&["nodePort"]).and_then(|number| number.as_i64());
            let number = number.unwrap_or_default();
            notes.push(format!("its node port {number} is taken and was dropped"));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::command::past::undelete::order::tests::candidate;

    #[test]
    fn taken_addresses_are_dropped() {
        let spec = json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "healthCheckNodePort": 3,
            "ports": [{"port": 80, "nodePort": 30000}, {"port": 81, "nodePort": 30001}]});
        let check = |resource: &str, fields: &[&str], expect: Json, notes: &[&str]| {
            let mut object: Value = json!({ "spec": spec }).into();
            let service = candidate(resource, json!({}));
            assert_eq!(drop_taken(&service, &mut object, fields), notes);
            assert_eq!(object, json!({ "spec": expect }).into());
        };
        let ports = json!([{"port": 80, "nodePort": 30000}, {"port": 81}]);
        check(
            "services Service",
            &["spec.clusterIPs", "spec.ports[1].nodePort"],
            json!({"healthCheckNodePort": 3, "ports": ports}),
            &[
                "its address 10.0.0.7 is taken and was dropped",
                "its node port 30001 is taken and was dropped",
            ],
        );
        check("services Service", &["spec.type"], spec.clone(), &[]);
        check("pods Pod", &["spec.clusterIPs"], spec.clone(), &[]);
    }

    #[test]
    fn claims_keep_what_is_theirs() {
        let claim = candidate(
            "persistentvolumeclaims PersistentVolumeClaim",
            json!({"metadata": {"name": "c", "namespace": "n", "uid": "u"}}),
        );
        let check = |volume: Option<Json>, keeps: bool, note: &str| {
            let mut object: Value = json!({"spec": {"volumeName": "v"},
                "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes", "x": "y"}}})
            .into();
            let volume = volume.map(Value::from);
            let said = fit_claim(&claim, &mut object, "v", volume.as_ref()).unwrap_or_default();
            assert!(said.contains(note) && said.is_empty() == note.is_empty(), "{said}");
            assert_eq!(object.at(&["spec", "volumeName"]).is_some(), keeps);
            let annotations = object.at(&["metadata", "annotations"]).unwrap().as_map().unwrap();
            assert_eq!(annotations.len(), if keeps { 2 } else { 1 });
        };
        check(None, false, "its volume v is gone");
        check(Some(json!({"spec": {}})), true, "");
        let bound = |name: &str| json!({"spec": {"claimRef": {"name": name, "namespace": "n", "uid": "u"}}});
        check(Some(bound("c")), true, "still bound to the claim that was deleted");
        check(Some(bound("other")), false, "its volume v is another claim's");
    }
}
