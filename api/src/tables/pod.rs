//! The cells of Pods: how far they have come, told from the states of their containers.

use quorate_meta::Value;

use super::cell::age;
use super::special::Special;

const NONE: &str = "<none>";

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "Ready" => ready,
        "Status" => |object, _| status(object).into(),
        "Restarts" => restarts,
        "IP" => address,
        "Readiness Gates" => gates,
        _ => return None,
    })
}

fn list<'v>(object: &'v Value, path: &[&str]) -> &'v [Value] {
    object.at(path).and_then(Value::as_list).unwrap_or_default()
}

fn is_true(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool) == Some(true)
}

fn is_running(status: &Value) -> bool {
    status.at(&["state", "running"]).is_some_and(|state| !state.is_null())
}

/// Whether an init container goes on running beside the others.
fn stays(object: &Value, name: Option<&str>) -> bool {
    let found = list(object, &["spec", "initContainers"])
        .iter()
        .find(|container| container.str_at(&["name"]) == name);
    found.is_some_and(|container| container.str_at(&["restartPolicy"]) == Some("Always"))
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = list(object, &["status", "conditions"]);
    conditions
        .iter()
        .any(|c| c.str_at(&["type"]) == Some(kind) && c.str_at(&["status"]) == Some("True"))
}

fn ready(object: &Value, _now_ms: u64) -> Value {
    let first = list(object, &["spec", "initContainers"]).iter();
    let beside =
        first.filter(|container| container.str_at(&["restartPolicy"]) == Some("Always")).count();
    let total = list(object, &["spec", "containers"]).len() + beside;
    let main = list(object, &["status", "containerStatuses"])
        .iter()
        .filter(|status| is_true(status, "ready") && is_running(status));
    let first = list(object, &["status", "initContainerStatuses"]).iter();
    let beside = first.filter(|s| {
        stays(object, s.str_at(&["name"])) && is_true(s, "started") && is_true(s, "ready")
    });
    format!("{}/{total}", main.count() + beside.count()).into()
}

fn status(object: &Value) -> String {
    let text = |path: &[&str]| object.str_at(path).unwrap_or_default();
    let mut word = text(&["status", "phase"]).to_owned();
    if !text(&["status", "reason"]).is_empty() {
        text(&["status", "reason"]).clone_into(&mut word);
    }
    let gated = |condition: &Value| {
        condition.str_at(&["type"]) == Some("PodScheduled")
            && condition.str_at(&["reason"]) == Some("SchedulingGated")
    };
    if list(object, &["status", "conditions"]).iter().any(gated) {
        word = "SchedulingGated".to_owned();
    }
    let starting = starting(object);
    let initialized = starting.is_none() || has_condition(object, "Initialized");
    if let Some(starting) = starting {
        word = starting;
    }
    if initialized {
        word = running(object, word);
    }
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        if text(&["status", "reason"]) == "NodeLost" {
            return "Unknown".to_owned();
        }
        if !matches!(text(&["status", "phase"]), "Succeeded" | "Failed") {
            return "Terminating".to_owned();
        }
    }
    word
}

/// What holds up the beginning, told of the first init container that has not done its part.
fn starting(object: &Value) -> Option<String> {
    let count = list(object, &["spec", "initContainers"]).len();
    for (index, status) in list(object, &["status", "initContainerStatuses"]).iter().enumerate() {
        let ended = status.at(&["state", "terminated"]).filter(|state| !state.is_null());
        let waiting = status.str_at(&["state", "waiting", "reason"]).unwrap_or_default();
        if ended.is_some_and(|ended| exit_code(ended) == 0) {
            continue;
        }
        if stays(object, status.str_at(&["name"])) && is_true(status, "started") {
            continue;
        }
        return Some(match ended {
            Some(ended) => format!("Init:{}", ending(ended)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => {
                format!("Init:{waiting}")
            }
            None => format!("Init:{index}/{count}"),
        });
    }
    None
}

/// What the containers are at, where they say more than the phase.
fn running(object: &Value, mut word: String) -> String {
    let statuses = list(object, &["status", "containerStatuses"]);
    let mut any_running = false;
    let mut failed: Option<String> = None;
    for status in statuses.iter().rev() {
        let waiting = status.str_at(&["state", "waiting", "reason"]).unwrap_or_default();
        let ended = status.at(&["state", "terminated"]).filter(|state| !state.is_null());
        if !waiting.is_empty() {
            waiting.clone_into(&mut word);
        } else if let Some(ended) = ended {
            word = ending(ended);
            if exit_code(ended) != 0 {
                failed = Some(word.clone());
            }
        } else if is_true(status, "ready") && is_running(status) {
            any_running = true;
        }
    }
    match (word.as_str(), any_running, failed) {
        ("Completed", true, _) if has_condition(object, "Ready") => "Running".to_owned(),
        ("Completed", _, Some(failed)) => failed,
        ("Completed", true, None) => "NotReady".to_owned(),
        _ => word,
    }
}

fn exit_code(ended: &Value) -> i64 {
    ended.get("exitCode").and_then(Value::as_i64).unwrap_or_default()
}

/// How a container has ended.
fn ending(ended: &Value) -> String {
    let reason = ended.str_at(&["reason"]).unwrap_or_default();
    let signal = ended.get("signal").and_then(Value::as_i64).unwrap_or_default();
    match (reason, signal) {
        ("", 0) => format!("ExitCode:{}", exit_code(ended)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn restarts(object: &Value, now_ms: u64) -> Value {
    let main = list(object, &["status", "containerStatuses"]).iter();
    let first = list(object, &["status", "initContainerStatuses"]).iter();
    let starting = starting(object).is_some() && !has_condition(object, "Initialized");
    let counted: Vec<&Value> = if starting {
        first.collect()
    } else {
        main.chain(first.filter(|status| stays(object, status.str_at(&["name"])))).collect()
    };
    let count: i64 = counted
        .iter()
        .filter_map(|status| status.get("restartCount").and_then(Value::as_i64))
        .sum();
    let ends =
        counted.iter().filter_map(|status| status.at(&["lastState", "terminated", "finishedAt"]));
    let last = ends
        .filter(|time| time.as_str().is_some())
        .max_by_key(|time| time.as_str().map(str::to_owned));
    match age(last, now_ms) {
        Some(ago) if count > 0 => format!("{count} ({ago} ago)").into(),
        _ => count.to_string().into(),
    }
}

fn address(object: &Value, _now_ms: u64) -> Value {
    let first = list(object, &["status", "podIPs"]).first().and_then(|address| address.get("ip"));
    first.cloned().unwrap_or_else(|| NONE.into())
}

fn gates(object: &Value, _now_ms: u64) -> Value {
    let gates = list(object, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return NONE.into();
    }
    let open = gates
        .iter()
        .filter(|gate| has_condition(object, gate.str_at(&["conditionType"]).unwrap_or_default()));
    format!("{}/{}", open.count(), gates.len()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn states() {
        let check = |status_of: serde_json::Value, expect: &str| {
            let object = json!({"spec": {"initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]}, "status": status_of});
            assert_eq!(status(&object.into()), expect);
        };
        let main = |states: &[serde_json::Value]| {
            let statuses: Vec<_> =
                states.iter().map(|state| json!({"ready": true, "state": state})).collect();
            json!({"phase": "Running", "containerStatuses": statuses})
        };
        let run = json!({"running": {"startedAt": "2024-01-01T00:00:00Z"}});
        let end =
            |code: i64, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason}});
        check(json!({"phase": "Pending"}), "Pending");
        check(json!({"phase": "Failed", "reason": "Evicted"}), "Evicted");
        check(
            main(&[run.clone(), json!({"waiting": {"reason": "CrashLoopBackOff"}})]),
            "CrashLoopBackOff",
        );
        check(main(&[end(0, "Completed")]), "Completed");
        check(main(&[end(0, "Completed"), run]), "NotReady");
        check(main(&[end(0, "Completed"), end(1, "Error")]), "Error");
        check(main(&[end(3, "")]), "ExitCode:3");
        let first = |state: serde_json::Value| json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": state}]});
        check(first(end(0, "Completed")), "Pending");
        check(first(end(1, "Error")), "Init:Error");
        check(first(json!({"waiting": {"reason": "PodInitializing"}})), "Init:0/2");
    }

    #[test]
    fn counts() {
        let run = json!({"running": {}});
        let object = Value::from(
            json!({"spec": {"containers": [{}, {}], "readinessGates": [{"conditionType": "g"}]},
            "status": {"podIPs": [{"ip": "10.4.4.4"}], "containerStatuses": [
                {"ready": true, "restartCount": 1, "state": run}, {"ready": false, "restartCount": 2, "state": {"waiting": {}}}]}}),
        );
        assert_eq!(ready(&object, 0), "1/2".into());
        assert_eq!(restarts(&object, 0), "3".into());
        assert_eq!(gates(&object, 0), "0/1".into());
        assert_eq!(address(&object, 0), "10.4.4.4".into());
    }
}
