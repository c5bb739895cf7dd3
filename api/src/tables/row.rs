//! What rows of a few kinds have besides the cells of their columns: a further cell, conditions, an
//! order of their own.

use quorate_meta::{Map, Value};

use super::cell::{UNKNOWN, age};
use super::join::text;
use super::special::Special;

/// The conditions of an object's row; `None` when it has none.
pub(super) type Conditions = fn(&Value) -> Option<Value>;

/// Where an object's row belongs among others.
pub(super) type Rank = fn(&Value) -> i64;

/// A cell after those of the columns. Clients pass over it; rows of release 1.35 have it all the
/// same.
pub(super) fn further_cell(kind: &str) -> Option<Special> {
    match kind {
        "IPAddress" => Some(existence),
        _ => None,
    }
}

/// The conditions of a kind that has some.
pub(super) fn conditions(kind: &str) -> Option<Conditions> {
    match kind {
        "Pod" => Some(completion),
        _ => None,
    }
}

/// The rank in lists of a kind whose rows do not just come in the order of names.
pub(super) fn rank(kind: &str) -> Option<Rank> {
    match kind {
        "FlowSchema" => Some(precedence),
        _ => None,
    }
}

/// How long the object has been there.
fn existence(object: &Value, now_ms: u64) -> Value {
    age(object.at(&["metadata", "creationTimestamp"]), now_ms)
        .map_or_else(|| UNKNOWN.into(), Value::from)
}

/// That a pod has run to its end.
fn completion(pod: &Value) -> Option<Value> {
    let phase = text(pod, &["status", "phase"]);
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    let condition = Map::from([
        ("message", message),
        ("reason", phase),
        ("status", "True"),
        ("type", "Completed"),
    ]);
    Some(Value::List(vec![condition.into()]))
}

/// The lowest number comes first.
fn precedence(schema: &Value) -> i64 {
    schema.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finished_pods() {
        let check = |phase: &str, expect: Option<&str>| {
            let found = completion(&json!({"status": {"phase": phase}}).into());
            let condition = |message: &str| json!({"type": "Completed", "status": "True", "reason": phase, "message": message});
            let expect = expect.map(|message| Value::from(json!([condition(message)])));
            assert_eq!(found, expect, "{phase}");
        };
        check("Succeeded", Some("The pod has completed successfully."));
        check("Failed", Some("The pod failed."));
        check("Running", None);
        check("", None);
        assert!(conditions("Pod").is_some() && conditions("Job").is_none());
    }

    #[test]
    fn further_cells() {
        let check = |metadata: serde_json::Value, expect: &str| {
            assert_eq!(existence(&json!({"metadata": metadata}).into(), 125_000), expect.into());
        };
        check(json!({"creationTimestamp": "1970-01-01T00:00:00Z"}), "2m5s");
        check(json!({}), "<unknown>");
        assert!(further_cell("IPAddress").is_some() && further_cell("ServiceCIDR").is_none());
    }
}
