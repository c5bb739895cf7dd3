//! Match resources: which requests a webhook or policy applies to, by operation, group, version,
//! resource and scope.

use std::collections::HashSet;

use quorate_meta::{Cause, name};

use crate::field::Field;
use crate::rules;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/// Checks a `RuleWithOperations`: no list is empty, and `*` is the only entry where it occurs.
pub(super) fn rule_with_operations(rule: &Field<'_>, causes: &mut Vec<Cause>) {
    let operations = rule.get("operations");
    star_alone(&operations, "operations", causes);
    operations.items().for_each(|operation| rules::one_of(&operation, &OPERATIONS, causes));
    for field in ["apiGroups", "apiVersions"] {
        star_alone(&rule.get(field), field, causes);
    }
    let versions = rule.get("apiVersions");
    causes.extend(versions.items().filter(Field::is_empty).map(|version| version.required("")));
    resources(&rule.get("resources"), causes);
    rules::optional_one_of(&rule.get("scope"), &["*", "Cluster", "Namespaced"], causes);
}

/// Checks a `MatchResources`: selectors and rules.
pub(super) fn check(resources: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::optional_one_of(&resources.get("matchPolicy"), &["Equivalent", "Exact"], causes);
    rules::selector(&resources.get("namespaceSelector"), causes);
    rules::selector(&resources.get("objectSelector"), causes);
    for field in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.get(field).items() {
            rule_with_operations(&rule, causes);
            let mut seen = HashSet::new();
            for own in rule.get("resourceNames").items() {
                causes.extend(own.invalid_for(&name::path_segment(own.text())));
                if !seen.insert(own.text()) {
                    causes.push(own.duplicate());
                }
            }
        }
    }
}

fn star_alone(list: &Field<'_>, what: &str, causes: &mut Vec<Cause>) {
    if list.is_empty() {
        causes.push(list.required(""));
    }
    if list.items().len() > 1 && list.items().any(|item| item.text() == "*") {
        let what = match what {
            "apiGroups" => "API groups",
            "apiVersions" => "API versions",
            other => other,
        };
        causes.push(list.invalid(&format!("if '*' is present, must not specify other {what}")));
    }
}

/// Checks resources: `*` for all, `a/*` for all subresources of one, `*/b` for one subresource of
/// all, `*/*` for everything.
fn resources(list: &Field<'_>, causes: &mut Vec<Cause>) {
    if list.is_empty() {
        causes.push(list.required(""));
    }
    let texts: Vec<&str> = list.items().map(|item| item.text()).collect();
    let has = |text: &str| texts.contains(&text);
    if texts.len() > 1 && has("*/*") {
        causes.push(list.invalid("if '*/*' is present, must not specify other resources"));
        return;
    }
    if has("*") && texts.iter().any(|text| *text != "*" && !text.contains('/')) {
        causes.push(
            list.invalid(
                "if '*' is present, must not specify other resources without subresources",
            ),
        );
    }
    for item in list.items() {
        match item.text().split_once('/') {
            _ if item.is_empty() => causes.push(item.required("")),
            Some((resource, below)) if below != "*" && has(&format!("{resource}/*")) => {
                causes.push(item.invalid(&format!(
                    "if '{resource}/*' is present, must not specify {}",
                    item.text()
                )));
            }
            Some((resource, below)) if resource != "*" && has(&format!("*/{below}")) => {
                causes.push(item.invalid(&format!(
                    "if '*/{below}' is present, must not specify {}",
                    item.text()
                )));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    #[test]
    fn rules_have_everything_and_stars_alone() {
        let check = |field: &str, value: Json, expect: &[&str]| {
            let rule = json!({"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["b"]});
            let object = patched(&rule, &[(&format!("/{field}"), value)]);
            let mut causes = Vec::new();
            rule_with_operations(&Field::root(&object), &mut causes);
            assert_eq!(shown(&causes), expect, "{field}");
        };
        check("scope", json!("Namespaced"), &[]);
        check("scope", json!("World"), &["NotSupported scope"]);
        for field in ["operations", "apiGroups", "apiVersions", "resources"] {
            check(field, json!([]), &[&format!("Required {field}")]);
            check(field, json!(["*"]), &[]);
            check(field, json!(["*", "CREATE"]), &[&format!("Invalid {field}")]);
        }
        check("operations", json!(["LOOK"]), &["NotSupported operations[0]"]);
        check("resources", json!(["*", "pods/log"]), &[]);
        check("resources", json!(["*/*", "pods/log"]), &["Invalid resources"]);
        check("resources", json!(["pods/*", "pods/log"]), &["Invalid resources[1]"]);
        check("resources", json!(["pods/log", "*/log"]), &["Invalid resources[0]"]);
    }

    #[test]
    fn names_of_resources_differ() {
        let rule = json!({"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["b"], "resourceNames": ["x", "x"]});
        let object = json!({"excludeResourceRules": [rule], "matchPolicy": "Maybe"}).into();
        let mut causes = Vec::new();
        check(&Field::root(&object), &mut causes);
        assert_eq!(
            shown(&causes),
            ["NotSupported matchPolicy", "Duplicate excludeResourceRules[0].resourceNames[1]"]
        );
    }
}
