//! The conditions of a CertificateSigningRequest: their values and their changes (API concept
//! "certificate signing requests", KEP-1513).
//!
//! Invariant: an approved, denied or failed request stays so; approval and denial exclude each
//! other.

use std::collections::{HashMap, HashSet};

use quorate_meta::{Cause, Path, Time, Value};

use quorate_registry::Part;

/// The type of the condition that approves a request.
pub(super) const APPROVED: &str = "Approved";
/// The type of the condition that denies a request.
pub(super) const DENIED: &str = "Denied";
/// The type of the condition that the signer sets when it could not issue the certificate.
pub(super) const FAILED: &str = "Failed";
/// Conditions that are never removed and whose status is `True`.
const PERMANENT: [&str; 3] = [APPROVED, DENIED, FAILED];
const FIELD: &str = "status.conditions";

/// The conditions of a request.
pub(super) fn all(object: &Value) -> &[Value] {
    object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default()
}

/// The conditions of one type.
fn of_type<'a>(object: &'a Value, kind: &str) -> Vec<&'a Value> {
    all(object).iter().filter(|condition| text(condition, "type") == kind).collect()
}

/// Whether there is a condition of this type.
pub(super) fn has(object: &Value, kind: &str) -> bool {
    !of_type(object, kind).is_empty()
}

fn text<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition.str_at(&[field]).unwrap_or_default()
}

/// Checks the conditions of a request.
pub(super) fn check(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut seen = HashSet::new();
    for (index, condition) in all(object).iter().enumerate() {
        let (kind, status) = (text(condition, "type"), text(condition, "status"));
        let path = Path::new(FIELD).index(index);
        // The schema has checked that `status` is present and in its enumeration.
        if PERMANENT.contains(&kind) && ["False", "Unknown"].contains(&status) {
            causes.push(Cause::not_supported(path.child("status"), status, &["True"]));
        }
        let excluded = match kind {
            APPROVED => DENIED,
            DENIED => APPROVED,
            _ => "",
        };
        if !excluded.is_empty() && seen.contains(excluded) {
            causes.push(Cause::invalid(
                FIELD,
                kind,
                "Approved and Denied conditions are mutually exclusive",
            ));
        }
        if !seen.insert(kind) && !kind.is_empty() {
            causes.push(Cause::duplicate(path.child("type"), kind));
        }
    }
    causes
}

/// Checks a change of the conditions through one part of the API.
pub(super) fn check_change(part: Part, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut forbid = |what: &str, kind: &str| {
        causes.push(Cause::forbidden(
            FIELD,
            &format!("updates may not {what} a condition of type {kind:?}"),
        ));
    };
    for kind in PERMANENT {
        let (before, after) = (of_type(old, kind), of_type(new, kind));
        let decided_here = (kind == FAILED) == (part == Part::Status);
        if after.len() < before.len() {
            forbid("remove", kind);
        } else if after.len() > before.len() && !decided_here {
            forbid("add", kind);
        }
    }
    causes
}

/// Whether a change has a request fail that was not approved.
pub(super) fn begins_to_fail(old: &Value, new: &Value) -> bool {
    has(new, FAILED) && !has(old, FAILED) && !has(old, APPROVED)
}

/// Restores the approval and denial of the old object, so that a signer cannot rewrite them.
pub(super) fn keep_decision(old: &Value, new: &mut Value) {
    for kind in [APPROVED, DENIED] {
        let mut before = of_type(old, kind).into_iter().cloned();
        if before.len() != of_type(new, kind).len() {
            continue;
        }
        let list = new.at_mut(&["status", "conditions"]).and_then(Value::as_list_mut);
        for condition in
            list.into_iter().flatten().filter(|condition| text(condition, "type") == kind)
        {
            if let Some(kept) = before.next() {
                *condition = kept;
            }
        }
    }
}

/// Sets the times that the client left out: `lastTransitionTime` changes only with the status.
pub(super) fn set_times(old: &Value, new: &mut Value, now: Time) {
    let now = now.seconds();
    let identity =
        |condition: &Value| ["type", "status"].map(|field| text(condition, field).to_owned());
    let mut known = HashMap::new();
    for condition in all(old) {
        known.entry(identity(condition)).or_insert_with(|| text(condition, "lastTransitionTime"));
    }
    let list = new.at_mut(&["status", "conditions"]).and_then(Value::as_list_mut);
    for condition in list.into_iter().flatten() {
        let since = known
            .get(&identity(condition))
            .copied()
            .filter(|since| !since.is_empty())
            .unwrap_or(&now)
            .to_owned();
        for (field, time) in [("lastUpdateTime", &now), ("lastTransitionTime", &since)] {
            if text(condition, field).is_empty() {
                condition.set_at(&[field], time.as_str());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(conditions: &[(&str, &str)]) -> Value {
        let list: Vec<_> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status}))
            .collect();
        json!({"status": {"conditions": list}}).into()
    }

    fn shown(causes: &[Cause]) -> Vec<String> {
        causes.iter().map(|cause| format!("{} {}", cause.reason.as_str(), cause.field)).collect()
    }

    #[test]
    fn values_of_conditions() {
        let check = |conditions: &[(&str, &str)], expect: &[&str]| {
            assert_eq!(shown(&check(&with(conditions))), expect, "{conditions:?}");
        };
        check(&[("Approved", "True"), ("Failed", "True"), ("Other", "Unknown")], &[]);
        check(
            &[("Other", "True"), ("Approved", "False")],
            &["FieldValueNotSupported status.conditions[1].status"],
        );
        check(
            &[("Approved", "True"), ("Denied", "True")],
            &["FieldValueInvalid status.conditions"],
        );
        check(
            &[("Denied", "True"), ("Approved", "True")],
            &["FieldValueInvalid status.conditions"],
        );
        check(
            &[("Other", "True"), ("Other", "False")],
            &["FieldValueDuplicate status.conditions[1].type"],
        );
    }

    #[test]
    fn how_conditions_may_change() {
        let check = |part: Part, old: &[&str], new: &[&str], expect: usize| {
            let object = |kinds: &[&str]| {
                with(&kinds.iter().map(|kind| (*kind, "True")).collect::<Vec<_>>())
            };
            assert_eq!(
                check_change(part, &object(old), &object(new)).len(),
                expect,
                "{part:?} {old:?} {new:?}"
            );
        };
        check(Part::Approval, &[], &["Approved"], 0);
        check(Part::Approval, &[], &["Denied"], 0);
        check(Part::Approval, &["Approved"], &["Approved", "Other"], 0);
        check(Part::Approval, &["Approved"], &[], 1);
        check(Part::Approval, &["Denied"], &["Approved"], 1);
        check(Part::Approval, &["Approved"], &["Approved", "Failed"], 1);
        check(Part::Approval, &["Approved", "Failed"], &["Approved"], 1);
        check(Part::Status, &["Approved"], &["Approved", "Failed"], 0);
        check(Part::Status, &["Approved", "Failed"], &["Approved"], 1);
        check(Part::Status, &[], &["Failed"], 0);
        check(Part::Status, &["Denied"], &["Denied", "Failed"], 0);
        check(Part::Status, &[], &["Approved"], 1);
        check(Part::Status, &["Approved"], &[], 1);
        check(Part::Status, &["Approved"], &["Approved", "Other"], 0);
    }

    #[test]
    fn a_signer_does_not_rewrite_the_approval() {
        let old = json!({"status": {"conditions": [{"type": "Approved", "reason": "a"}]}}).into();
        let mut new =
            json!({"status": {"conditions": [{"type": "Other"}, {"type": "Approved", "reason": "b"}]}}).into();
        keep_decision(&old, &mut new);
        let expect = json!({"status": {"conditions": [{"type": "Other"}, {"type": "Approved", "reason": "a"}]}});
        assert_eq!(new, expect.into());
    }

    #[test]
    fn times_that_are_left_out_are_set() {
        let old =
            json!({"status": {"conditions": [{"type": "A", "status": "True", "lastTransitionTime": "t0"}]}}).into();
        let mut new = json!({"status": {"conditions": [
            {"type": "A", "status": "True"}, {"type": "B", "status": "True", "lastTransitionTime": "t1"}
        ]}})
        .into();
        set_times(&old, &mut new, Time::from_ms(0));
        let now = "1970-01-01T00:00:00Z";
        let expect = json!({"status": {"conditions": [
            {"type": "A", "status": "True", "lastTransitionTime": "t0", "lastUpdateTime": now},
            {"type": "B", "status": "True", "lastTransitionTime": "t1", "lastUpdateTime": now}
        ]}});
        assert_eq!(new, expect.into());
    }
}
