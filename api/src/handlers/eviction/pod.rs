//! The pod of an eviction: what is read of it, and how it is marked.

use quorate_meta::{GroupKind, Map, Status, Time, Value};

use super::condition;
use quorate_registry::error::Error;
use quorate_registry::write::Preconditions;

/// Whether no budget counts the pod: it is pending, has ended, or is being deleted already.
pub(super) fn is_uncounted(pod: &Value) -> bool {
    matches!(phase(pod), "Pending" | "Succeeded" | "Failed") || is_terminating(pod)
}

/// Whether no budget counts the pod only as long as it stays as it is: it may become ready at any
/// moment.
pub(super) fn is_waiting(pod: &Value) -> bool {
    phase(pod) == "Pending" && !is_terminating(pod)
}

/// Whether it is ready: a budget protects only such pods.
pub(super) fn is_ready(pod: &Value) -> bool {
    condition::find(pod, "Ready").and_then(|ready| ready.str_at(&["status"])) == Some("True")
}

/// Writes the disruption into its status.
pub(super) fn mark(pod: &mut Value, now: Time) {
    let condition = Map::from([
        ("type", Value::from("DisruptionTarget")),
        ("status", "True".into()),
        ("lastProbeTime", Value::Null),
        ("reason", "EvictionByEvictionAPI".into()),
        ("message", "Eviction API: evicting".into()),
    ]);
    condition::set(pod, condition, now);
}

/// Refuses a pod that is not the one that was meant, or no longer as it was: 409. `kind` is that of
/// pods.
pub(super) fn refuse_other(
    kind: &GroupKind,
    pod: &Value,
    meant: &Preconditions,
) -> Result<(), Error> {
    let text = |field: &str| pod.str_at(&["metadata", field]).unwrap_or_default();
    let (name, uid, version) = (text("name"), text("uid"), text("resourceVersion"));
    if let Some(meant) = meant.uid.as_deref().filter(|meant| *meant != uid) {
        return Err(Status::uid_precondition_failed(kind, name, meant, uid).into());
    }
    if let Some(meant) = meant.resource_version.as_deref().filter(|meant| *meant != version) {
        let version = version.parse().unwrap_or_default();
        return Err(Status::version_precondition_failed(kind, name, meant, version).into());
    }
    Ok(())
}

fn phase(pod: &Value) -> &str {
    pod.str_at(&["status", "phase"]).unwrap_or_default()
}

fn is_terminating(pod: &Value) -> bool {
    pod.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn which_pods_no_budget_counts() {
        let check = |phase: &str, deleted: Json, expect: (bool, bool)| {
            let pod = Value::from(
                json!({"metadata": {"deletionTimestamp": deleted}, "status": {"phase": phase}}),
            );
            assert_eq!((is_uncounted(&pod), is_waiting(&pod)), expect, "{phase} {deleted}");
        };
        check("Pending", json!(null), (true, true));
        check("Pending", json!("2030-01-01T00:00:00Z"), (true, false));
        check("Running", json!(null), (false, false));
        check("Running", json!("2030-01-01T00:00:00Z"), (true, false));
        check("Succeeded", json!(null), (true, false));
        check("Failed", json!(null), (true, false));
        check("Unknown", json!(null), (false, false));
        check("", json!(null), (false, false));
    }

    #[test]
    fn which_pods_are_ready() {
        let check = |conditions: Json, expect: bool| {
            assert_eq!(is_ready(&json!({"status": {"conditions": conditions}}).into()), expect);
        };
        check(json!(null), false);
        check(json!([{"type": "ContainersReady", "status": "True"}]), false);
        check(
            json!([{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "False"}]),
            false,
        );
        check(
            json!([{"type": "Initialized", "status": "False"}, {"type": "Ready", "status": "True"}]),
            true,
        );
    }

    #[test]
    fn a_pod_says_why_it_is_deleted() {
        let mut pod = Value::from(json!({"status": {"phase": "Running"}}));
        mark(&mut pod, Time::from_ms(0));
        let expect = json!({"status": {"phase": "Running", "conditions": [{
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
            "lastProbeTime": null, "lastTransitionTime": "1970-01-01T00:00:00Z"}]}});
        assert_eq!(pod, expect.into());
        let before = pod.clone();
        mark(&mut pod, Time::from_ms(60_000));
        assert_eq!(pod, before, "it says so already");
    }

    #[test]
    fn only_the_pod_that_is_meant_is_deleted() {
        let check = |uid: Option<&str>, version: Option<&str>, expect: &str| {
            let pod =
                Value::from(json!({"metadata": {"name": "p", "uid": "u", "resourceVersion": "7"}}));
            let meant = Preconditions {
                uid: uid.map(str::to_owned),
                resource_version: version.map(str::to_owned),
            };
            let told =
                refuse_other(&GroupKind::new("", "Pod"), &pod, &meant).map_err(Error::into_status);
            match told {
                Ok(()) => assert_eq!(expect, ""),
                Err(status) => {
                    assert_eq!(
                        (status.code, status.details.clone().unwrap_or_default().kind.as_str()),
                        (409, "Pod")
                    );
                    assert!(!expect.is_empty() && status.message.contains(expect), "{status}");
                }
            }
        };
        check(None, None, "");
        check(Some("u"), Some("7"), "");
        check(
            Some("other"),
            Some("8"),
            "the UID in the precondition (other) does not match the UID in record (u)",
        );
        check(Some("u"), Some("8"), "the ResourceVersion in the precondition (8) does not match");
    }
}
