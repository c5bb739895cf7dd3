//! The mandatory FlowSchemas and PriorityLevelConfigurations of API Priority and Fairness: their
//! specifications are fixed.

use quorate_meta::flow_control::{EXEMPT, level, schema};
use quorate_meta::{Cause, Value};

use crate::field::Field;

/// Checks the specification of a mandatory priority level. Only the shares of `exempt` may change.
pub(super) fn check_level(name: &str, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let Some(mut fixed) = level(name) else { return };
    let mut why = format!("spec of '{name}' must equal the fixed value");
    if name == EXEMPT {
        fixed.insert("exempt", spec.get("exempt").value().clone());
        why = format!("spec of '{name}' except the 'spec.exempt' field must equal the fixed value");
        if !spec.get("exempt").is_set() {
            fixed.remove("exempt");
        }
    }
    if *spec.value() != Value::Map(fixed) {
        causes.push(spec.invalid(&why));
    }
}

/// Checks the specification of a mandatory flow schema.
pub(super) fn check_schema(name: &str, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    if schema(name).is_some_and(|fixed| *spec.value() != Value::Map(fixed)) {
        causes.push(spec.invalid(&format!("spec of '{name}' must equal the fixed value")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{patched, shown};
    use quorate_meta::Map;
    use quorate_meta::flow_control::NAMES;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(
        rule: fn(&str, &Field<'_>, &mut Vec<Cause>),
        name: &str,
        fixed: Option<Map>,
        change: (&str, Json),
        expect: &[&str],
    ) {
        let spec = serde_json::to_value(Value::Map(fixed.unwrap_or_default())).unwrap();
        let spec = patched(&json!({ "spec": spec }), &[change]);
        let mut causes = Vec::new();
        rule(name, &Field::root(&spec).get("spec"), &mut causes);
        assert_eq!(shown(&causes), expect, "{name} {spec:?}");
    }

    #[test]
    fn levels() {
        let run = |name, pointer, value, expect: &[&str]| {
            check(check_level, name, level(name), (pointer, value), expect);
        };
        run("catch-all", "/spec/limited/nominalConcurrencyShares", json!(5), &[]);
        run("catch-all", "/spec/limited/nominalConcurrencyShares", json!(6), &["Invalid spec"]);
        run("catch-all", "/spec/limited/borrowingLimitPercent", json!(1), &["Invalid spec"]);
        run("exempt", "/spec/exempt/nominalConcurrencyShares", json!(7), &[]);
        run("exempt", "/spec/exempt/lendablePercent", json!(7), &[]);
        run("exempt", "/spec/exempt", json!(null), &[]);
        run("exempt", "/spec/type", json!("Limited"), &["Invalid spec"]);
        run("mine", "/spec/type", json!("Limited"), &[]);
    }

    #[test]
    fn schemas() {
        let run = |name, pointer, value, expect: &[&str]| {
            check(check_schema, name, schema(name), (pointer, value), expect);
        };
        for name in NAMES {
            run(name, "/spec/priorityLevelConfiguration/name", json!(name), &[]);
            run(name, "/spec/rules", json!(null), &["Invalid spec"]);
        }
        run("exempt", "/spec/matchingPrecedence", json!(2), &["Invalid spec"]);
        run("mine", "/spec/matchingPrecedence", json!(2), &[]);
    }
}
