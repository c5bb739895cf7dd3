//! The cells of CertificateSigningRequests: for how long, and how far it has come.

use quorate_meta::Value;

use super::human;
use super::join::{NONE, items, text};
use super::special::Special;

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "RequestedDuration" => |object, _| requested(object),
        "Condition" => |object, _| condition(object),
        _ => return None,
    })
}

fn requested(object: &Value) -> Value {
    match object.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64) {
        Some(seconds) => human::duration(seconds).into(),
        None => NONE.into(),
    }
}

fn condition(object: &Value) -> Value {
    let has = |kind: &str| {
        items(object, &["status", "conditions"])
            .iter()
            .any(|condition| text(condition, &["type"]) == kind)
    };
    let decision = ["Denied", "Approved"].into_iter().find(|kind| has(kind)).unwrap_or("Pending");
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if text(object, &["status", "certificate"]).is_empty() { "" } else { ",Issued" };
    format!("{decision}{failed}{issued}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(column: &str, object: serde_json::Value, expect: &str) {
        let cell = special(column).expect("a special column")(&Value::from(object), 0);
        assert_eq!(cell.as_str(), Some(expect), "{column}");
    }

    #[test]
    fn how_far_a_request_has_come() {
        let of = |types: &[&str], certificate: &str| {
            let conditions: Vec<_> = types.iter().map(|kind| json!({"type": kind})).collect();
            json!({"status": {"conditions": conditions, "certificate": certificate}})
        };
        check("Condition", json!({"status": {}}), "Pending");
        check("Condition", of(&["Approved"], ""), "Approved");
        check("Condition", of(&["Approved"], "YQ=="), "Approved,Issued");
        check("Condition", of(&["Approved", "Failed"], ""), "Approved,Failed");
        check("Condition", of(&["Denied", "Other"], ""), "Denied");
        check("Condition", of(&["Failed"], ""), "Pending,Failed");
    }

    #[test]
    fn how_long_a_certificate_is_to_last() {
        check("RequestedDuration", json!({"spec": {"expirationSeconds": 86400}}), "24h");
        check("RequestedDuration", json!({"spec": {"expirationSeconds": 600}}), "10m");
        check("RequestedDuration", json!({"spec": {}}), "<none>");
    }
}
