//! ValidatingAdmissionPolicyBinding: where a policy applies, with which parameters, and which
//! actions a failure has.

use std::collections::HashSet;

use quorate_meta::{Cause, Value};

use super::binding_spec;
use super::rule::Rule;
use crate::field::Field;
use crate::rules;

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

/// The strategy of ValidatingAdmissionPolicyBinding.
#[derive(Debug)]
pub(super) struct ValidatingAdmissionPolicyBinding;

impl Rule for ValidatingAdmissionPolicyBinding {
    fn check(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        binding_spec::check(&spec, &mut causes);
        check_actions(&spec.get("validationActions"), &mut causes);
        causes
    }
}

fn check_actions(actions: &Field<'_>, causes: &mut Vec<Cause>) {
    if actions.is_empty() {
        causes.push(actions.required("at least one validation action is required"));
    }
    let mut seen = HashSet::new();
    for action in actions.items() {
        rules::one_of(&action, &ACTIONS, causes);
        if !seen.insert(action.text()) {
            causes.push(action.duplicate());
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        causes.push(actions.invalid("must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    #[test]
    fn bindings() {
        let base = json!({"spec": {"policyName": "p", "validationActions": ["Deny"]}});
        let check = |field: &str, value: Json, expect: &[&str]| {
            let object = patched(&base, &[(&format!("/spec/{field}"), value)]);
            let causes = ValidatingAdmissionPolicyBinding.check(&object);
            assert_eq!(shown(&causes), expect, "{field}");
        };
        check("matchResources", json!({"objectSelector": {}}), &[]);
        check("policyName", json!(""), &["Required spec.policyName"]);
        check("policyName", json!("A b"), &["Invalid spec.policyName"]);
        check("validationActions", json!([]), &["Required spec.validationActions"]);
        check("validationActions", json!(["Shout"]), &["NotSupported spec.validationActions[0]"]);
        check(
            "validationActions",
            json!(["Audit", "Audit"]),
            &["Duplicate spec.validationActions[1]"],
        );
        check("validationActions", json!(["Deny", "Warn"]), &["Invalid spec.validationActions"]);
        let action = "parameterNotFoundAction";
        check("paramRef", json!({"name": "n", action: "Allow"}), &[]);
        check("paramRef", json!({"selector": {}, action: "Deny"}), &[]);
        check(
            "paramRef",
            json!({"name": "n"}),
            &["Required spec.paramRef.parameterNotFoundAction"],
        );
        check("paramRef", json!({action: "Deny"}), &["Required spec.paramRef"]);
        let both = json!({"name": "n", "selector": {}, action: "Deny"});
        check(
            "paramRef",
            both,
            &["Forbidden spec.paramRef.name", "Forbidden spec.paramRef.selector"],
        );
    }
}
