//! HorizontalPodAutoscalerBehavior: how fast an autoscaler may scale up and down.

use quorate_meta::{Cause, Map, Value};

use crate::field::Field;

/// Seconds of a stabilization window, at most.
const MAX_WINDOW_SECONDS: i64 = 3600;
/// Seconds of the period of a scaling policy, at most.
const MAX_PERIOD_SECONDS: i64 = 1800;
/// Seconds of the period of the default scaling policies.
const DEFAULT_PERIOD_SECONDS: i64 = 15;

/// Defaults both directions. A list of policies that is present and empty stays.
pub(super) fn default(behavior: &mut Map) {
    if let Some(up) = behavior.map_mut("scaleUp") {
        up.get_or_insert_with("stabilizationWindowSeconds", || 0.into());
        rules(up, &[("Pods", 4), ("Percent", 100)]);
    }
    if let Some(down) = behavior.map_mut("scaleDown") {
        rules(down, &[("Percent", 100)]);
    }
}

fn rules(rules: &mut Map, policies: &[(&str, i64)]) {
    rules.get_or_insert_with("selectPolicy", || "Max".into());
    let policy = |(kind, value): &(&str, i64)| {
        let period = Value::from(DEFAULT_PERIOD_SECONDS);
        Value::from([
            ("type", Value::from(*kind)),
            ("value", (*value).into()),
            ("periodSeconds", period),
        ])
    };
    rules.get_or_insert_with("policies", || Value::List(policies.iter().map(policy).collect()));
}

/// Checks both directions.
pub(super) fn check(behavior: &Field<'_>, causes: &mut Vec<Cause>) {
    for direction in ["scaleUp", "scaleDown"] {
        let rules = behavior.get(direction);
        if rules.is_set() {
            check_rules(&rules, causes);
        }
    }
}

fn check_rules(rules: &Field<'_>, causes: &mut Vec<Cause>) {
    let window = rules.get("stabilizationWindowSeconds");
    match window.int() {
        Some(..0) => causes.push(window.invalid("must be greater than or equal to zero")),
        Some(seconds) if seconds > MAX_WINDOW_SECONDS => {
            causes.push(
                window.invalid(&format!("must be less than or equal to {MAX_WINDOW_SECONDS}")),
            );
        }
        _ => {}
    }
    let select = rules.get("selectPolicy");
    let known = ["Disabled", "Max", "Min"];
    if select.is_set() && !known.contains(&select.text()) {
        causes.push(select.not_supported(&known));
    }
    let policies = rules.get("policies");
    if policies.is_empty() {
        causes.push(policies.required("must specify at least one Policy"));
    }
    policies.items().for_each(|policy| check_policy(&policy, causes));
    let tolerance = rules.get("tolerance");
    if tolerance.text().starts_with('-') {
        causes.push(tolerance.invalid("must be greater than or equal to 0"));
    }
}

fn check_policy(policy: &Field<'_>, causes: &mut Vec<Cause>) {
    let (kind, known) = (policy.get("type"), ["Percent", "Pods"]);
    if !known.contains(&kind.text()) {
        causes.push(kind.not_supported(&known));
    }
    let period = policy.get("periodSeconds");
    for field in [&policy.get("value"), &period] {
        if field.int().unwrap_or_default() <= 0 {
            causes.push(field.invalid("must be greater than zero"));
        }
    }
    if period.int().is_some_and(|seconds| seconds > MAX_PERIOD_SECONDS) {
        causes.push(period.invalid(&format!("must be less than or equal to {MAX_PERIOD_SECONDS}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_of_a_direction() {
        let check = |change: serde_json::Value, expect: &[&str]| {
            let policy = json!({"type": "Pods", "value": 1, "periodSeconds": 1});
            let mut object = Value::from(json!({"scaleUp": {"policies": [policy]}}));
            quorate_registry::patch::merge(&mut object, json!({"scaleUp": change}).into());
            let mut causes = Vec::new();
            check(&Field::root(&object), &mut causes);
            let found: Vec<String> =
                causes.iter().map(|c| format!("{} {}", c.reason.as_str(), c.field)).collect();
            assert_eq!(found, expect, "{change}");
        };
        check(
            json!({"stabilizationWindowSeconds": 3600, "selectPolicy": "Disabled", "tolerance": "100m"}),
            &[],
        );
        check(
            json!({"stabilizationWindowSeconds": 3601}),
            &["FieldValueInvalid scaleUp.stabilizationWindowSeconds"],
        );
        check(
            json!({"stabilizationWindowSeconds": -1}),
            &["FieldValueInvalid scaleUp.stabilizationWindowSeconds"],
        );
        check(json!({"selectPolicy": "Odd"}), &["FieldValueNotSupported scaleUp.selectPolicy"]);
        check(json!({"policies": []}), &["FieldValueRequired scaleUp.policies"]);
        check(json!({"tolerance": "-1"}), &["FieldValueInvalid scaleUp.tolerance"]);
        check(
            json!({"policies": [{"type": "Odd", "value": 0, "periodSeconds": 1801}]}),
            &[
                "FieldValueNotSupported scaleUp.policies[0].type",
                "FieldValueInvalid scaleUp.policies[0].value",
                "FieldValueInvalid scaleUp.policies[0].periodSeconds",
            ],
        );
    }
}
