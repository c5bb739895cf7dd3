//! MutatingAdmissionPolicy: CEL expressions that change objects (KEP-3962).
//!
//! Not here: what it has in common with a validating policy.

use quorate_meta::{Cause, Names, Value};
use quorate_policy::mutation::MutatingPolicy;

use super::policy_spec::{self, ExpressionCheck};
use super::rule::Rule;
use super::{lockout, suspended};
use crate::field::Field;
use crate::rules;

/// The operations whose objects can be changed.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// The types of patches, and the field of each.
const PATCH_TYPES: [(&str, &str); 2] =
    [("ApplyConfiguration", "applyConfiguration"), ("JSONPatch", "jsonPatch")];

/// The strategy of MutatingAdmissionPolicy.
#[derive(Debug)]
pub(super) struct MutatingAdmissionPolicy {
    expressions: ExpressionCheck,
}

impl MutatingAdmissionPolicy {
    pub(super) const fn new() -> Self {
        Self {
            expressions: ExpressionCheck::new(|environments, spec, old| {
                MutatingPolicy::compile(environments, spec, old).1
            }),
        }
    }
}

impl Rule for MutatingAdmissionPolicy {
    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let suspended = suspended::warning(names, old, new);
        // One that cannot be evaluated refuses what it covers.
        let refuses = new.str_at(&["spec", "failurePolicy"]) != Some("Ignore");
        let lockout = if refuses { lockout::of_policy(names, new) } else { Vec::new() };
        suspended.into_iter().chain(lockout).collect()
    }

    fn check(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        policy_spec::check(&spec, check_operations, &mut causes);
        let mutations = spec.get("mutations");
        if mutations.is_empty() {
            causes.push(mutations.required("mutations must contain at least one item"));
        }
        mutations.items().for_each(|mutation| check_mutation(&mutation, &mut causes));
        rules::one_of(&spec.get("reinvocationPolicy"), &["IfNeeded", "Never"], &mut causes);
        causes
    }

    fn check_expressions(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<Cause> {
        self.expressions.check(names, old, new)
    }
}

/// Checks that the operations of rules have an object that can be changed.
pub(super) fn check_operations(list: &Field<'_>, causes: &mut Vec<Cause>) {
    for rule in list.items() {
        let operations = rule.get("operations");
        let unfit = operations.items().filter(|operation| !OPERATIONS.contains(&operation.text()));
        causes.extend(unfit.map(|operation| {
            Cause::not_supported(list.path().child("operations"), operation.text(), &OPERATIONS)
        }));
    }
}

fn check_mutation(mutation: &Field<'_>, causes: &mut Vec<Cause>) {
    let own = mutation.get("patchType");
    let types = PATCH_TYPES.map(|(name, _)| name);
    rules::one_of(&own, &types, causes);
    if !types.contains(&own.text()) {
        return;
    }
    for (name, field) in PATCH_TYPES {
        let patch = mutation.get(field);
        match (name == own.text(), patch.is_set()) {
            (true, true) => {
                let expression = patch.get("expression");
                if expression.text().trim().is_empty() {
                    causes.push(expression.required("expression is not specified"));
                }
            }
            (true, false) => {
                causes.push(patch.required(&format!("must be specified when patchType is {name}")));
            }
            (false, true) => {
                let why = format!("must not be specified when patchType is {}", own.text());
                let shown = format!("{{{field}}}");
                causes.push(Cause::invalid(patch.path().clone(), shown, &why));
            }
            (false, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn base() -> Json {
        let rule = json!({"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["b"]});
        json!({"metadata": {"name": "p"}, "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
            "reinvocationPolicy": "Never",
        }})
    }

    fn check(field: &str, value: Json, expect: &[&str]) {
        let object = patched(&base(), &[(&format!("/spec/{field}"), value)]);
        let causes = MutatingAdmissionPolicy::new().check(&object);
        assert_eq!(shown(&causes), expect, "{field}");
    }

    #[test]
    fn policies() {
        check("failurePolicy", json!("Ignore"), &[]);
        check("failurePolicy", json!("Maybe"), &["NotSupported spec.failurePolicy"]);
        check("matchConstraints", json!(null), &["Required spec.matchConstraints"]);
        check("matchConstraints", json!({}), &["Required spec.matchConstraints.resourceRules"]);
        check("paramKind", json!({"apiVersion": "v1"}), &["Required spec.paramKind.kind"]);
        check("mutations", json!([]), &["Required spec.mutations"]);
        check("reinvocationPolicy", json!(null), &["Required spec.reinvocationPolicy"]);
        check("reinvocationPolicy", json!("Always"), &["NotSupported spec.reinvocationPolicy"]);
        check("reinvocationPolicy", json!("IfNeeded"), &[]);
        check(
            "variables",
            json!([{"name": "a-b", "expression": "1"}]),
            &["Invalid spec.variables[0].name"],
        );
    }

    #[test]
    fn deletions_have_nothing_to_change() {
        let operations = |list: Json, expect: &[&str]| {
            let rule = json!({"apiGroups": ["a"], "apiVersions": ["v1"], "operations": list, "resources": ["b"]});
            check("matchConstraints", json!({"resourceRules": [rule]}), expect);
        };
        operations(json!(["CREATE", "UPDATE", "CONNECT"]), &[]);
        operations(json!(["*"]), &[]);
        let at = "NotSupported spec.matchConstraints.resourceRules.operations";
        operations(json!(["CREATE", "DELETE"]), &[at]);
    }

    #[test]
    fn a_mutation_has_the_field_of_its_type() {
        let mutation =
            |mutation: Json, expect: &[&str]| check("mutations", json!([mutation]), expect);
        let (apply, patch) = (json!({"expression": "Object{}"}), json!({"expression": "[]"}));
        let at = |kind: &str, field: &str| format!("{kind} spec.mutations[0].{field}");
        mutation(json!({"patchType": "JSONPatch", "jsonPatch": patch}), &[]);
        mutation(json!({"applyConfiguration": apply}), &[&at("Required", "patchType")]);
        mutation(json!({"patchType": "Merge"}), &[&at("NotSupported", "patchType")]);
        mutation(
            json!({"patchType": "JSONPatch", "applyConfiguration": apply}),
            &[&at("Invalid", "applyConfiguration"), &at("Required", "jsonPatch")],
        );
        mutation(
            json!({"patchType": "ApplyConfiguration", "jsonPatch": patch}),
            &[&at("Required", "applyConfiguration"), &at("Invalid", "jsonPatch")],
        );
        mutation(
            json!({"patchType": "JSONPatch", "jsonPatch": {"expression": " "}}),
            &[&at("Required", "jsonPatch.expression")],
        );
    }

    #[test]
    fn expressions_compile() {
        let with = |expression: &str| -> Value {
            let mutation =
                json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}});
            patched(&base(), &[("/spec/mutations", json!([mutation]))])
        };
        let strategy = MutatingAdmissionPolicy::new();
        let names = Naming::Svc.names();
        let create = |expression: &str, expect: &[&str]| {
            assert_eq!(shown(&strategy.check_expressions(names, None, &with(expression))), expect);
        };
        let at = "Invalid spec.mutations[0].jsonPatch.expression";
        create("[JSONPatch{op: 'remove', path: '/a'}]", &[]);
        create("[1]", &[at]);
        create("[JSONPatch{op: 'remove', path: params.path}]", &[at]);
        let same = strategy.check_expressions(names, Some(&with("[1]")), &with("[1]"));
        assert_eq!(shown(&same), [""; 0]);
    }
}
