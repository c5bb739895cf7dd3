//! The levels and schemas that every cluster needs, and nobody changes: what is never held up, and what nothing else takes.

use quorate_meta::{Cause, Map, Value, well_known};

use crate::registry::kinds::field::Field;

/// The name of the level of what is never held up.
pub(crate) const EXEMPT: &str = "exempt";
const CATCH_ALL: &str = "catch-all";

/// Their names; there is a level and a schema of each.
pub(crate) const NAMES: [&str; 2] = [CATCH_ALL, EXEMPT];

/// The specification of the level with this name.
pub(crate) fn level(name: &str) -> Option<Map> {
    match name {
        EXEMPT => {
            let exempt = Map::from([("nominalConcurrencyShares", 0), ("lendablePercent", 0)]);
            Some(Map::from([("type", Value::from("Exempt")), ("exempt", exempt.into())]))
        }
        CATCH_ALL => {
            let limited = Map::from([
                ("nominalConcurrencyShares", Value::from(5)),
                ("lendablePercent", 0.into()),
                ("limitResponse", Map::from([("type", "Reject")]).into()),
            ]);
            Some(Map::from([("type", Value::from("Limited")), ("limited", limited.into())]))
        }
        _ => None,
    }
}

/// The specification of the schema with this name.
pub(crate) fn schema(name: &str) -> Option<Map> {
    let (precedence, groups) = match name {
        EXEMPT => (1, vec![well_known::GROUP_MASTERS]),
        CATCH_ALL => (10_000, vec![well_known::GROUP_UNAUTHENTICATED, well_known::GROUP_AUTHENTICATED]),
        _ => return None,
    };
    let subject = |group: &&str| {
        let group = Map::from([("name", *group)]);
        Value::from([("kind", Value::from("Group")), ("group", group.into())])
    };
    let rule = everything(Value::List(groups.iter().map(subject).collect()));
    let mut spec = Map::from([
        ("priorityLevelConfiguration", Value::from([("name", name)])),
        ("matchingPrecedence", precedence.into()),
        ("rules", Value::List(vec![rule.into()])),
    ]);
    if name == CATCH_ALL {
        spec.insert("distinguisherMethod", Map::from([("type", "ByUser")]));
    }
    Some(spec)
}

/// The rule that takes whatever these subjects ask for.
pub(crate) fn everything(subjects: Value) -> Map {
    let all = || Value::List(vec!["*".into()]);
    let resources = Map::from([
        ("verbs", all()),
        ("apiGroups", all()),
        ("resources", all()),
        ("clusterScope", true.into()),
        ("namespaces", all()),
    ]);
    let paths = Map::from([("verbs", all()), ("nonResourceURLs", all())]);
    Map::from([
        ("subjects", subjects),
        ("resourceRules", Value::List(vec![resources.into()])),
        ("nonResourceRules", Value::List(vec![paths.into()])),
    ])
}

/// What is wrong with the level of this name, if its specification is fixed. How much the exempt one has and lends may change.
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

/// The same of a schema.
pub(super) fn check_schema(name: &str, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    if schema(name).is_some_and(|fixed| *spec.value() != Value::Map(fixed)) {
        causes.push(spec.invalid(&format!("spec of '{name}' must equal the fixed value")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds::rules::testing::{but, shown};
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
        let spec = but(&json!({ "spec": spec }), &[change]);
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
