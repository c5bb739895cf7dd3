//! MutatingAdmissionPolicyBinding: where a mutating policy applies, and with which parameters.

use quorate_meta::{Cause, Value};

use super::binding_spec;
use super::mutating_admission_policy::check_operations;
use super::rule::Rule;
use crate::field::Field;

/// The strategy of MutatingAdmissionPolicyBinding.
#[derive(Debug)]
pub(super) struct MutatingAdmissionPolicyBinding;

impl Rule for MutatingAdmissionPolicyBinding {
    fn check(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        binding_spec::check(&spec, &mut causes);
        check_operations(&spec.get("matchResources.resourceRules"), &mut causes);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    #[test]
    fn bindings() {
        let base = json!({"spec": {"policyName": "p"}});
        let check = |field: &str, value: Json, expect: &[&str]| {
            let object = patched(&base, &[(&format!("/spec/{field}"), value)]);
            let causes = MutatingAdmissionPolicyBinding.check(&object);
            assert_eq!(shown(&causes), expect, "{field}");
        };
        check("matchResources", json!({"objectSelector": {}}), &[]);
        check("policyName", json!(""), &["Required spec.policyName"]);
        check(
            "paramRef",
            json!({"name": "n"}),
            &["Required spec.paramRef.parameterNotFoundAction"],
        );
        let rule = |operation: &str| json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": ["pods"]}]});
        check("matchResources", rule("UPDATE"), &[]);
        check(
            "matchResources",
            rule("DELETE"),
            &["NotSupported spec.matchResources.resourceRules.operations"],
        );
    }
}
