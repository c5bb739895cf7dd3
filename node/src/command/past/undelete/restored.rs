//! What comes back of an object: what users have said of it, without what the server and the deletion have.
//!
//! Finalizers come back: a deletion later on has to pass those who put them there, as it would have before. Those by which a
//! deletion itself says how dependents go do not. The status does not: it is made anew by who makes it.

use quorate_meta::{Map, Value};

use super::Candidate;

/// The metadata that comes back.
const METADATA: [&str; 7] =
    ["annotations", "finalizers", "generateName", "labels", "name", "namespace", "ownerReferences"];
/// Finalizers by which a deletion says how dependents go.
const DELETION_FINALIZERS: [&str; 2] = ["foregroundDeletion", "orphan"];
/// How labels and annotations end that hold the uid of the object, or of another one.
const JOB_UID: &str = "controller-uid";
const SERVICE_ACCOUNT_UID: &str = "service-account.uid";

/// The object to create.
pub(super) fn restored(candidate: &Candidate) -> Value {
    let mut object = candidate.past.clone();
    if let Some(map) = object.as_map_mut() {
        map.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_map_mut) {
        metadata.retain(|field, _| METADATA.contains(&field));
        keep_finalizers(metadata);
    }
    if candidate.is("", "Pod") {
        object.remove_at(&["spec", "ephemeralContainers"]);
    } else if candidate.is("batch", "Job") {
        forget_generated_selector(&mut object);
    } else if is_token(candidate) {
        // The token was one of the old object: the controller makes another.
        object.remove_at(&["data"]);
        drop_ending(object.at_mut(&["metadata", "annotations"]), SERVICE_ACCOUNT_UID);
    }
    object
}

/// The object that is there, with what comes back in place of what it has.
pub(super) fn replaced(present: &Value, restored: &Value) -> Value {
    let mut object = present.clone();
    let (Some(fields), Some(wanted)) = (object.as_map_mut(), restored.as_map()) else {
        return object;
    };
    fields.retain(|field, _| matches!(field, "apiVersion" | "kind" | "metadata" | "status"));
    for (field, value) in wanted.iter().filter(|(field, _)| *field != "metadata") {
        fields.insert(field, value.clone());
    }
    for field in METADATA {
        match restored.at(&["metadata", field]) {
            Some(value) => {
                object.set_at(&["metadata", field], value.clone());
            }
            None => {
                object.remove_at(&["metadata", field]);
            }
        }
    }
    object
}

/// Whether a secret is a token of a service account.
pub(super) fn is_token(candidate: &Candidate) -> bool {
    let kind = candidate.past.str_at(&["type"]).unwrap_or_default();
    candidate.is("", "Secret") && kind.ends_with("/service-account-token")
}

fn keep_finalizers(metadata: &mut Map) {
    let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_list_mut) else {
        return;
    };
    finalizers
        .retain(|name| !name.as_str().is_some_and(|name| DELETION_FINALIZERS.contains(&name)));
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    }
}

/// The selector of a job is made of its uid, unless the user has written it.
fn forget_generated_selector(object: &mut Value) {
    if object.at(&["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true) {
        return;
    }
    object.remove_at(&["spec", "selector"]);
    drop_ending(object.at_mut(&["metadata", "labels"]), JOB_UID);
    drop_ending(object.at_mut(&["spec", "template", "metadata", "labels"]), JOB_UID);
}

fn drop_ending(entries: Option<&mut Value>, ending: &str) {
    if let Some(entries) = entries.and_then(Value::as_map_mut) {
        entries.retain(|key, _| !key.ends_with(ending));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::command::past::undelete::order::tests::candidate;

    #[track_caller]
    fn check(resource: &str, past: Json, expect: Json) {
        assert_eq!(restored(&candidate(resource, past)), Value::from(expect));
    }

    #[test]
    fn what_the_server_made_stays_behind() {
        check(
            "configmaps ConfigMap",
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}, "immutable": true,
                "metadata": {
                    "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3,
                    "creationTimestamp": "t", "deletionTimestamp": "t", "deletionGracePeriodSeconds": 0, "selfLink": "/x",
                    "managedFields": [{}], "labels": {"l": "1"}, "annotations": {"a": "2"},
                    "finalizers": ["orphan", "example.com/hold", "foregroundDeletion"],
                    "ownerReferences": [{"uid": "o"}],
                },
                "status": {"x": 1},
            }),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}, "immutable": true,
                "metadata": {
                    "name": "a", "namespace": "n", "labels": {"l": "1"}, "annotations": {"a": "2"},
                    "finalizers": ["example.com/hold"], "ownerReferences": [{"uid": "o"}],
                },
            }),
        );
        let only = json!({"metadata": {"name": "a", "finalizers": ["orphan"]}});
        check("configmaps ConfigMap", only, json!({"metadata": {"name": "a"}}));
    }

    #[test]
    fn kinds_have_their_own() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"ephemeralContainers": [{}], "nodeName": "n"}});
        check("pods Pod", pod, json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}}));
        let job = |manual: bool| {
            json!({"metadata": {"name": "a", "labels": {"batch.kubernetes.io/controller-uid": "u", "x": "y"}}, "spec": {
                "manualSelector": manual, "selector": {"matchLabels": {"controller-uid": "u"}},
                "template": {"metadata": {"labels": {"controller-uid": "u", "job-name": "a"}}},
            }})
        };
        check("batch.svc.io jobs Job", job(true), job(true));
        check(
            "batch jobs Job",
            job(false),
            json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {
                "manualSelector": false, "template": {"metadata": {"labels": {"job-name": "a"}}},
            }}),
        );
        check(
            "secrets Secret",
            json!({"type": "svc.io/service-account-token", "data": {"token": "x"}, "metadata": {"annotations": {
                "svc.io/service-account.uid": "u", "svc.io/service-account.name": "s"}}}),
            json!({"type": "svc.io/service-account-token", "metadata": {"annotations": {"svc.io/service-account.name": "s"}}}),
        );
        let opaque = json!({"type": "Opaque", "data": {"token": "x"}});
        check("secrets Secret", opaque.clone(), opaque);
    }

    #[test]
    fn what_is_there_keeps_what_it_is() {
        let present = json!({"kind": "X", "data": {"new": 1}, "more": 1, "status": {"s": 1},
            "metadata": {"name": "a", "uid": "u2", "resourceVersion": "9", "labels": {"bad": "1"}}});
        let wanted = json!({"kind": "X", "data": {"old": 1}, "metadata": {"name": "a", "annotations": {"a": "b"}}});
        let expect = json!({"kind": "X", "data": {"old": 1}, "status": {"s": 1},
            "metadata": {"name": "a", "uid": "u2", "resourceVersion": "9", "annotations": {"a": "b"}}});
        assert_eq!(replaced(&present.into(), &wanted.into()), Value::from(expect));
    }
}
