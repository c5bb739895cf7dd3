//! The status of a StatefulSet: no count is negative or larger than `replicas`.

use quorate_meta::Cause;

use crate::field::Field;
use crate::workload;

/// Checks a status.
pub(super) fn check_status(status: &Field<'_>, causes: &mut Vec<Cause>) {
    let counted = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    workload::not_negative(status, &counted, causes);
    for field in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
        workload::at_most(status, field, "replicas", "status.replicas", causes);
    }
    workload::at_most(status, "availableReplicas", "readyReplicas", "status.readyReplicas", causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn counts() {
        let check = |status: serde_json::Value, expect: &[&str]| {
            let mut causes = Vec::new();
            check_status(&Field::root(&Value::from(json!({ "s": status }))).get("s"), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"replicas": 2, "currentReplicas": 2, "readyReplicas": 1}), &[]);
        check(json!({"replicas": 1, "currentReplicas": 2}), &["Invalid s.currentReplicas"]);
        check(
            json!({"replicas": 1, "readyReplicas": -1}),
            &["Invalid s.readyReplicas", "Invalid s.availableReplicas"],
        );
    }
}
