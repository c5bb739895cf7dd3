//! ValidatingAdmissionPolicy: CEL expressions that objects must satisfy.
//!
//! Not here: what it has in common with a mutating policy.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Value, name};
use quorate_policy::Policy;

use super::policy_spec::{self, ExpressionCheck};
use super::rule::Rule;
use super::{lockout, suspended};
use crate::field::Field;
use crate::{conditions, rules};

const NO_RULES: &str = "validations or auditAnnotations must be specified";
/// Audit annotations of one policy, at most.
const MAX_ANNOTATIONS: usize = 20;

/// Bytes of the expression of an audit annotation.
const MAX_ANNOTATION_EXPRESSION_BYTES: usize = 5 * 1024;

/// The strategy of ValidatingAdmissionPolicy.
#[derive(Debug)]
pub(super) struct ValidatingAdmissionPolicy {
    expressions: ExpressionCheck,
}

impl ValidatingAdmissionPolicy {
    pub(super) const fn new() -> Self {
        Self {
            expressions: ExpressionCheck::new(|environments, spec, old| {
                Policy::compile(environments, spec, old).1
            }),
        }
    }
}

impl Rule for ValidatingAdmissionPolicy {
    const HAS_STATUS: bool = true;

    fn check(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        policy_spec::check(&spec, |_, _| {}, &mut causes);
        let (validations, annotations) = (spec.get("validations"), spec.get("auditAnnotations"));
        if validations.is_empty() && annotations.is_empty() {
            causes.extend([&validations, &annotations].map(|field| field.required(NO_RULES)));
        }
        validations.items().for_each(|validation| check_validation(&validation, &mut causes));
        let name = Field::root(object).get("metadata.name");
        check_annotations(&annotations, name.text(), &mut causes);
        causes
    }

    fn check_expressions(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<Cause> {
        self.expressions.check(names, old, new)
    }

    fn check_status(&self, status: &Field<'_>, causes: &mut Vec<Cause>) {
        for warning in status.get("typeChecking.expressionWarnings").items() {
            rules::required(&warning.get("warning"), causes);
            rules::required(&warning.get("fieldRef"), causes);
        }
        conditions::check(&status.get("conditions"), causes);
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let suspended = suspended::warning(names, old, new);
        suspended.into_iter().chain(lockout::of_policy(names, new)).collect()
    }
}

fn check_validation(validation: &Field<'_>, causes: &mut Vec<Cause>) {
    let (expression, message) = (validation.get("expression"), validation.get("message"));
    let said = validation.get("messageExpression");
    if expression.text().trim().is_empty() {
        causes.push(expression.required("expression is not specified"));
    }
    if !message.is_empty() {
        if message.text().trim().is_empty() {
            causes.push(message.invalid("message must be non-empty if specified"));
        } else if message.text().trim().contains('\n') {
            causes.push(message.invalid("message must not contain line breaks"));
        }
    } else if expression.text().trim().contains('\n') && said.is_empty() {
        causes
            .push(message.required("message must be specified if expression contains line breaks"));
    }
    if !said.is_empty() && said.text().trim().is_empty() {
        causes.push(said.invalid("must be non-empty if specified"));
    }
    let reason = validation.get("reason");
    rules::optional_one_of(&reason, &["Forbidden", "Invalid", "RequestEntityTooLarge"], causes);
}

/// Checks the audit annotations of the policy of a name, which stands before their keys.
fn check_annotations(list: &Field<'_>, policy: &str, causes: &mut Vec<Cause>) {
    if list.items().len() > MAX_ANNOTATIONS {
        causes.push(Cause::too_many(list.path(), list.items().len(), MAX_ANNOTATIONS));
    }
    let mut seen = HashSet::new();
    for annotation in list.items() {
        let key = annotation.get("key");
        let qualified = name::qualified_name(&format!("{policy}/{}", key.text()));
        causes.extend(key.invalid_for(&qualified));
        if !key.is_empty() && !seen.insert(key.text()) {
            causes.push(key.duplicate());
        }
        let expression = annotation.get("valueExpression");
        let text = expression.text().trim();
        if text.is_empty() {
            causes.push(expression.required("valueExpression is not specified"));
        } else if text.len() > MAX_ANNOTATION_EXPRESSION_BYTES {
            let most = MAX_ANNOTATION_EXPRESSION_BYTES;
            causes.push(expression.required(&format!("must not exceed {most} bytes in length")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admissionregistration::rule::AdmissionRule;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use quorate_registry::{Part, Strategy};
    use serde_json::{Value as Json, json};

    #[test]
    fn statuses() {
        let check = |status: Json, expect: &[&str]| {
            let new = json!({ "status": status }).into();
            let causes = AdmissionRule(ValidatingAdmissionPolicy::new()).validate_update(
                Naming::Svc.names(),
                Part::Status,
                &Value::Null,
                &new,
            );
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"observedGeneration": 1}), &[]);
        let warnings = json!({"expressionWarnings": [{"fieldRef": "spec.variables[0].expression", "warning": ""}]});
        check(
            json!({"typeChecking": warnings}),
            &["Required status.typeChecking.expressionWarnings[0].warning"],
        );
        let condition = json!({"type": "a", "status": "X", "reason": "R", "lastTransitionTime": "2024-01-01T00:00:00Z"});
        check(json!({"conditions": [condition]}), &["NotSupported status.conditions[0].status"]);
    }

    #[test]
    fn policies() {
        let rule = json!({"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["b"]});
        let base = json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]}});
        let check = |field: &str, value: Json, expect: &[&str]| {
            let object = patched(&base, &[(&format!("/spec/{field}"), value)]);
            let causes = ValidatingAdmissionPolicy::new().check(&object);
            assert_eq!(shown(&causes), expect, "{field}");
        };
        check("failurePolicy", json!("Ignore"), &[]);
        check("failurePolicy", json!("Maybe"), &["NotSupported spec.failurePolicy"]);
        check("matchConstraints", json!(null), &["Required spec.matchConstraints"]);
        check("matchConstraints", json!({}), &["Required spec.matchConstraints.resourceRules"]);
        check(
            "validations",
            json!(null),
            &["Required spec.validations", "Required spec.auditAnnotations"],
        );
        check(
            "paramKind",
            json!({}),
            &["Required spec.paramKind.apiVersion", "Required spec.paramKind.kind"],
        );
        check(
            "paramKind",
            json!({"apiVersion": "a/b/c", "kind": "K"}),
            &["Invalid spec.paramKind.apiVersion"],
        );
        for version in ["Bad_Group/v1", "example.com/V1!", "example.com/"] {
            check(
                "paramKind",
                json!({"apiVersion": version, "kind": "K"}),
                &["Invalid spec.paramKind.apiVersion"],
            );
        }
        let validation = |field: &str, value: &str, expect: &[&str]| {
            let mut validation = json!({"expression": "true"});
            validation[field] = json!(value);
            check("validations", json!([validation]), expect);
        };
        validation("expression", " \n", &["Required spec.validations[0].expression"]);
        validation("expression", "1\n+1", &["Required spec.validations[0].message"]);
        let said = json!([{"expression": "1\n+1", "messageExpression": "'a'"}]);
        check("validations", said, &[]);
        validation("message", "a\nb", &["Invalid spec.validations[0].message"]);
        validation("message", "a\n", &[]);
        validation("reason", "Odd", &["NotSupported spec.validations[0].reason"]);
        validation("reason", "Unauthorized", &["NotSupported spec.validations[0].reason"]);
        validation("messageExpression", " ", &["Invalid spec.validations[0].messageExpression"]);
        let annotation = json!({"key": "k", "valueExpression": "'v'"});
        check("auditAnnotations", json!([annotation]), &[]);
        check(
            "auditAnnotations",
            json!([annotation, annotation]),
            &["Duplicate spec.auditAnnotations[1].key"],
        );
    }
    #[test]
    fn expressions_compile() {
        let policy = |expression: &str, condition: &str| -> Value {
            json!({"spec": {
                "matchConditions": [{"name": "c", "expression": condition}],
                "validations": [{"expression": expression}],
            }})
            .into()
        };
        let strategy = AdmissionRule(ValidatingAdmissionPolicy::new());
        let names = Naming::Svc.names();
        let at = "Invalid spec.validations[0].expression";
        let create = |expression: &str, expect: &[&str]| {
            let causes = strategy.validate_create(names, &policy(expression, "true"));
            assert_eq!(shown(&causes), expect, "{expression}");
        };
        create("object.a == 1", &[]);
        create("params.a == 1", &[at]);
        create("1", &[at]);
        let update = |old: (&str, &str), new: (&str, &str), expect: &[&str]| {
            let (old, new) = (policy(old.0, old.1), policy(new.0, new.1));
            let causes = strategy.validate_update(names, Part::Main, &old, &new);
            assert_eq!(shown(&causes), expect);
        };
        update(("1", "2"), ("1", "2"), &[]);
        update(("true", "2"), ("1", "2"), &[at]);
        update(("true", "2"), ("true", "3"), &["Invalid spec.matchConditions[0].expression"]);
    }
}
