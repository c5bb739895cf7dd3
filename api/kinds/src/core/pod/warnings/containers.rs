//! Warnings about containers: amounts in fractions of bytes, and variables that hide others.

use std::collections::HashSet;

use quorate_meta::{Quantity, quoted};

use crate::field::Field;

/// Resources that are counted in whole bytes.
const BYTES: [&str; 2] = ["memory", "ephemeral-storage"];

/// Warnings about a container.
pub(super) fn of_container(container: &Field<'_>, warnings: &mut Vec<String>) {
    for resource in BYTES {
        for list in ["limits", "requests"] {
            of_amount(&container.get("resources").get(list), resource, warnings);
        }
    }
    of_variables(&container.get("env"), warnings);
}

/// Warnings about the overhead of a pod.
pub(super) fn of_overhead(overhead: &Field<'_>, warnings: &mut Vec<String>) {
    BYTES.iter().for_each(|resource| of_amount(overhead, resource, warnings));
}

fn of_amount(amounts: &Field<'_>, resource: &str, warnings: &mut Vec<String>) {
    let Some(text) = amounts.value().str_at(&[resource]) else {
        return;
    };
    if Quantity::parse(text).is_some_and(|amount| !amount.is_whole()) {
        let (path, text) = (amounts.path().key(resource), quoted(text));
        warnings
            .push(format!("{path}: fractional byte value {text} is invalid, must be an integer"));
    }
}

/// Warnings about variables that another one of their name replaces; one whose value refers to the
/// earlier one extends it.
fn of_variables(list: &Field<'_>, warnings: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for variable in list.items() {
        let (name, value) = (variable.get("name").text(), variable.get("value").text());
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let extends = value != reference && value.contains(&reference);
        if variable.get("valueFrom").is_set() || !extends {
            let why = "which may be dropped when using apply";
            let (path, name) = (variable.path(), quoted(name));
            warnings.push(format!("{path}: hides previous definition of {name}, {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn variables_and_amounts() {
        let check = |container: serde_json::Value, expect: &[&str]| {
            let (object, mut warnings) = (Value::from(json!({ "c": container })), Vec::new());
            of_container(&Field::root(&object).get("c"), &mut warnings);
            assert_eq!(warnings, expect, "{object:?}");
        };
        let twice = |second: serde_json::Value| {
            let mut second = second;
            second["name"] = "A".into();
            json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}, second]})
        };
        let hidden =
            "c.env[2]: hides previous definition of \"A\", which may be dropped when using apply";
        check(twice(json!({"value": "2"})), &[hidden]);
        check(twice(json!({"value": "$(A)"})), &[hidden]);
        check(twice(json!({"value": "$(A):2"})), &[]);
        check(twice(json!({"valueFrom": {"fieldRef": {}}})), &[hidden]);
        let amounts = |limits: &str, requests: &str| {
            json!({"resources": {"limits": {"memory": limits, "cpu": "1m"},
            "requests": {"ephemeral-storage": requests}}})
        };
        check(amounts("1", "1Ki"), &[]);
        let why =
            |text: &str| format!("fractional byte value \"{text}\" is invalid, must be an integer");
        let [limits, requests] = [why("1500m"), why("100m")];
        check(
            amounts("1500m", "100m"),
            &[
                &format!("c.resources.limits[memory]: {limits}"),
                &format!("c.resources.requests[ephemeral-storage]: {requests}"),
            ],
        );
    }

    #[test]
    fn overheads() {
        let object = Value::from(json!({"o": {"memory": "1m", "cpu": "1m"}}));
        let mut warnings = Vec::new();
        of_overhead(&Field::root(&object).get("o"), &mut warnings);
        assert_eq!(
            warnings,
            ["o[memory]: fractional byte value \"1m\" is invalid, must be an integer"]
        );
    }
}
