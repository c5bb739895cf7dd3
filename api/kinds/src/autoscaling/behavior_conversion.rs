//! The behavior annotation of autoscaling/v1: the fields of v2 in a fixed order, with capital
//! letters.
//!
//! Clients also write the names as v2 spells them, so reading ignores the case.

use quorate_meta::{Map, Value};
use quorate_wire::json;

const DIRECTIONS: [&str; 2] = ["scaleUp", "scaleDown"];
const RULES: [&str; 4] = ["stabilizationWindowSeconds", "selectPolicy", POLICIES, "tolerance"];
const POLICY: [&str; 3] = ["type", "value", "periodSeconds"];
const POLICIES: &str = "policies";
const NULL: &str = "null";

/// The value of the annotation.
pub(super) fn to_v1(behavior: &Value) -> String {
    text(behavior, &DIRECTIONS, |_, rules| text(rules, &RULES, rule_text))
}

/// The behavior of v2 for a parsed annotation; `None` when it is no object. Fields of a wrong type
/// are left out.
pub(super) fn to_v2(behavior: &Value) -> Option<Value> {
    read(behavior, &DIRECTIONS, |_, rules| read(rules, &RULES, read_rule))
}

fn rule_text(name: &str, value: &Value) -> String {
    match value.as_list() {
        Some(policies) if name == POLICIES => {
            let policies: Vec<String> =
                policies.iter().map(|policy| text(policy, &POLICY, rule_text)).collect();
            format!("[{}]", policies.join(","))
        }
        _ => String::from_utf8_lossy(&json::to_vec(value)).into_owned(),
    }
}

/// A JSON object with these fields; absent ones are `null`.
fn text(value: &Value, names: &[&str], write: impl Fn(&str, &Value) -> String) -> String {
    if value.is_null() {
        return NULL.to_owned();
    }
    let field = |name: &&str| {
        let (first, rest) = name.split_at(1);
        let value = value.get(name).map_or_else(|| NULL.to_owned(), |value| write(name, value));
        format!("\"{}{rest}\":{value}", first.to_uppercase())
    };
    format!("{{{}}}", names.iter().map(field).collect::<Vec<_>>().join(","))
}

fn read_rule(name: &str, value: &Value) -> Option<Value> {
    match name {
        POLICIES => {
            let policies =
                value.as_list()?.iter().filter_map(|policy| read(policy, &POLICY, read_rule));
            Some(Value::List(policies.collect()))
        }
        "selectPolicy" | "tolerance" | "type" => value.as_str().map(Value::from),
        _ => value.as_i64().map(Value::from),
    }
}

fn read(
    value: &Value,
    names: &[&str],
    read: impl Fn(&str, &Value) -> Option<Value>,
) -> Option<Value> {
    let given = value.as_map()?;
    let mut map = Map::new();
    for name in names {
        let found = given.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name));
        if let Some(value) = found.and_then(|(_, value)| read(name, value)) {
            map.insert(*name, value);
        }
    }
    Some(Value::Map(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn to_v1_and_back() {
        let check = |v2: serde_json::Value, expect: &str| {
            let v2 = Value::from(v2);
            let text = to_v1(&v2);
            assert_eq!(text, expect);
            let (parsed, _) = json::parse(text.as_bytes()).unwrap();
            assert_eq!(to_v2(&parsed), Some(v2));
        };
        check(json!({}), r#"{"ScaleUp":null,"ScaleDown":null}"#);
        let policy = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        check(
            json!({"scaleDown": {"policies": [policy], "selectPolicy": "Min", "tolerance": "50m"}}),
            concat!(
                r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","#,
                r#""Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"50m"}}"#
            ),
        );
    }

    #[test]
    fn case_is_ignored_and_types_are_not() {
        let check = |given: serde_json::Value, expect: Option<serde_json::Value>| {
            assert_eq!(to_v2(&given.into()), expect.map(Value::from));
        };
        let rules = json!({"stabilizationWindowSeconds": 5});
        check(json!({"scaleUp": rules, "other": 1}), Some(json!({"scaleUp": rules})));
        check(
            json!({"ScaleUp": {"StabilizationWindowSeconds": "5", "policies": null}}),
            Some(json!({"scaleUp": {}})),
        );
        check(json!([]), None);
    }
}
