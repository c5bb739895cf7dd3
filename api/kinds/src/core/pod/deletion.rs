//! The grace period of a pod's deletion: the requested one, or that of the pod, and zero for a pod
//! without a node or in a terminal phase.

use quorate_meta::Value;

/// The grace period in place of a negative one, in seconds.
const SHORTEST_SECONDS: i64 = 1;

/// The grace period in seconds; `asked` is that of the delete options.
pub(super) fn grace_seconds(pod: &Value, asked: Option<i64>) -> i64 {
    let own = || pod.at(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    let seconds = asked.or_else(own).unwrap_or_default();
    let seconds = if seconds < 0 { SHORTEST_SECONDS } else { seconds };
    let unscheduled = pod.str_at(&["spec", "nodeName"]).unwrap_or_default().is_empty();
    let ended = matches!(pod.str_at(&["status", "phase"]), Some("Failed" | "Succeeded"));
    if unscheduled || ended { 0 } else { seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn periods() {
        let check = |node: &str, phase: &str, own: i64, asked: Option<i64>, expect: i64| {
            let pod = json!({"spec": {"nodeName": node, "terminationGracePeriodSeconds": own}, "status": {"phase": phase}});
            assert_eq!(grace_seconds(&pod.into(), asked), expect, "{node} {phase} {own} {asked:?}");
        };
        check("n", "Running", 30, None, 30);
        check("n", "Running", 30, Some(5), 5);
        check("n", "Running", 30, Some(0), 0);
        check("n", "Running", -7, None, 1);
        check("n", "Succeeded", 30, Some(5), 0);
        check("", "Pending", 30, Some(5), 0);
    }
}
