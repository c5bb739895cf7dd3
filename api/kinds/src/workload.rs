//! Checks that workloads share: counts of replicas, label selectors, `IntOrString` of rolling
//! updates.

use quorate_meta::{Cause, LabelSelector, Value};

use super::field::Field;
use super::rules;

/// Checks that none of these numbers is negative.
pub(super) fn not_negative(object: &Field<'_>, fields: &[&str], causes: &mut Vec<Cause>) {
    fields.iter().for_each(|field| rules::not_negative(&object.get(field), causes));
}

/// Checks that a number of a status is not larger than another one.
pub(super) fn at_most(
    status: &Field<'_>,
    field: &str,
    limit: &str,
    name: &str,
    causes: &mut Vec<Cause>,
) {
    let (value, limit) = (status.get(field), status.get(limit));
    let number = value.int().unwrap_or_default();
    if number > limit.int().unwrap_or_default() {
        causes.push(Cause::invalid(
            value.path(),
            number,
            &format!("cannot be greater than {name}"),
        ));
    }
}

/// Checks the counts of a status, of a ReplicaSet or a ReplicationController.
pub(super) fn check_replicas(status: &Field<'_>, causes: &mut Vec<Cause>) {
    let counted = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "terminatingReplicas",
        "observedGeneration",
    ];
    not_negative(status, &counted, causes);
    for field in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
        at_most(status, field, "replicas", "status.replicas", causes);
    }
    at_most(status, "availableReplicas", "readyReplicas", "readyReplicas", causes);
}

/// Checks the required selector of a workload: well formed and not empty. Returns whether the
/// template can be checked against it.
pub(super) fn check_selector(
    selector: &Field<'_>,
    workload: &str,
    causes: &mut Vec<Cause>,
) -> bool {
    if !selector.is_set() {
        causes.push(selector.required(""));
        return true;
    }
    check_optional_selector(selector, workload, causes)
}

/// Like [`check_selector`], for an optional selector.
pub(super) fn check_optional_selector(
    selector: &Field<'_>,
    workload: &str,
    causes: &mut Vec<Cause>,
) -> bool {
    if !selector.is_set() {
        return true;
    }
    rules::selector(selector, causes);
    if selector.get("matchLabels").is_empty() && selector.get("matchExpressions").is_empty() {
        causes.push(selector.invalid(&format!("empty selector is invalid for {workload}")));
    }
    let well_formed = LabelSelector::from_object(selector.value()).is_some();
    if !well_formed {
        causes.push(selector.invalid("invalid label selector"));
    }
    well_formed
}

/// Checks a number that is not negative, or a percentage (`IntOrString`).
pub(super) fn number_or_percent(field: &Field<'_>, causes: &mut Vec<Cause>) {
    match field.value() {
        Value::String(text) if percent(text).is_none() => {
            let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
                       regex used for validation is '[0-9]+%')";
            causes.push(field.invalid(why));
        }
        _ => rules::not_negative(field, causes),
    }
}

/// Checks that a percentage is at most 100%.
pub(super) fn at_most_100_percent(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if percent(field.text()).is_some_and(|percent| percent > 100) {
        causes.push(field.invalid("must not be greater than 100%"));
    }
}

/// Whether a number or percentage is zero; false for a malformed one.
pub(super) fn is_zero(field: &Field<'_>) -> bool {
    field.int().or_else(|| percent(field.text())) == Some(0)
}

fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::json;

    #[test]
    fn numbers_or_percentages() {
        let check = |value: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({ "v": value }));
            let mut causes = Vec::new();
            let field = Field::root(&object).get("v");
            number_or_percent(&field, &mut causes);
            at_most_100_percent(&field, &mut causes);
            assert_eq!(shown(&causes), expect, "{value}");
        };
        for good in [json!(0), json!(7), json!("0%"), json!("100%"), json!(null)] {
            check(good, &[]);
        }
        for bad in [
            json!(-1),
            json!("1"),
            json!("%"),
            json!("1.5%"),
            json!("-5%"),
            json!("101%"),
            json!("many"),
        ] {
            check(bad, &["Invalid v"]);
        }
    }

    #[test]
    fn selectors() {
        let check = |selector: serde_json::Value, expect: &[&str], usable: bool| {
            let object = Value::from(json!({ "s": selector }));
            let mut causes = Vec::new();
            assert_eq!(check_selector(&Field::root(&object).get("s"), "x", &mut causes), usable);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"matchLabels": {"a": "b"}}), &[], true);
        check(json!(null), &["Required s"], true);
        check(json!({}), &["Invalid s"], true);
        let like = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Like"}]});
        check(like, &["Invalid s.matchExpressions[0].operator", "Invalid s"], false);
    }
}
