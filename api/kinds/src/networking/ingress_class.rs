//! IngressClass: the controller that implements the Ingresses of a class.

use quorate_meta::{Cause, Names, Value, name};

use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// Characters of a controller name, at most.
const MAX_CONTROLLER: usize = 250;

/// The strategy of IngressClass.
#[derive(Debug)]
pub(super) struct IngressClass;

impl Strategy for IngressClass {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(parameters) = object.at_mut(&["spec", "parameters"])
            && parameters.as_map().is_some()
            && parameters.str_at(&["scope"]).unwrap_or_default().is_empty()
            && parameters.get("scope").is_none_or(Value::is_null)
        {
            parameters.set_at(&["scope"], "Cluster");
        }
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let controller = spec.get("controller");
        if controller.text().len() > MAX_CONTROLLER {
            causes.push(Cause::too_long(controller.path(), MAX_CONTROLLER));
        }
        rules::name(&controller, domain_prefixed_path, &mut causes);
        let parameters = spec.get("parameters");
        if parameters.is_set() {
            check_parameters(&parameters, &mut causes);
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let controller = |object| Field::root(object).get("spec.controller");
        rules::immutable(&controller(old), &controller(new), &mut causes);
        causes
    }
}

fn check_parameters(parameters: &Field<'_>, causes: &mut Vec<Cause>) {
    super::ingress_rules::typed_reference(parameters, causes);
    let (scope, namespace) = (parameters.get("scope"), parameters.get("namespace"));
    match scope.text() {
        "Cluster" if namespace.is_set() => {
            causes.push(namespace.forbidden("`parameters.scope` is set to 'Cluster'"))
        }
        "Namespace" if !namespace.is_set() => {
            causes.push(namespace.required("`parameters.scope` is set to 'Namespace'"));
        }
        "Namespace" => causes.extend(namespace.invalid_for(&name::dns_label(namespace.text()))),
        "Cluster" => {}
        _ => rules::one_of(&scope, &["Cluster", "Namespace"], causes),
    }
}

/// Why a text is no domain-prefixed path such as `example.com/what`.
fn domain_prefixed_path(text: &str) -> Vec<String> {
    let Some((domain, path)) =
        text.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return vec!["must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned()];
    };
    let mut wrong = name::dns_subdomain(domain);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(fits) {
        wrong.push(
            "Invalid path (regex used for validation is '^[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+$')"
                .to_owned(),
        );
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn specs() {
        let base = json!({"spec": {"controller": "example.com/x", "parameters": {"kind": "K", "name": "p"}}});
        let check = |changes: &[(&str, serde_json::Value)], expect: &[&str]| {
            let mut object = patched(&base, changes);
            IngressClass.default(Naming::Svc.names(), &mut object);
            assert_eq!(
                shown(&IngressClass.validate(Naming::Svc.names(), &object)),
                expect,
                "{changes:?}"
            );
        };
        let parameter = |name: &str, value: &str, expect: &[&str]| {
            check(&[(&format!("/spec/parameters/{name}"), json!(value))], expect);
        };
        check(&[], &[]);
        check(&[("/spec/controller", json!(null))], &["Required spec.controller"]);
        for bad in ["x", "/x", "x/", "A_b/x", "a.b/x y"] {
            check(&[("/spec/controller", json!(bad))], &["Invalid spec.controller"]);
        }
        parameter("kind", "", &["Required spec.parameters.kind"]);
        parameter("apiGroup", "A_b", &["Invalid spec.parameters.apiGroup"]);
        parameter("scope", "Some", &["NotSupported spec.parameters.scope"]);
        parameter("namespace", "x", &["Forbidden spec.parameters.namespace"]);
        parameter("scope", "Namespace", &["Required spec.parameters.namespace"]);
        check(
            &[
                ("/spec/parameters/scope", json!("Namespace")),
                ("/spec/parameters/namespace", json!("x")),
            ],
            &[],
        );
    }

    #[test]
    fn the_controller_stays() {
        let check = |new: &str, expect: usize| {
            let object =
                |controller: &str| Value::from(json!({"spec": {"controller": controller}}));
            let (old, new) = (object("example.com/x"), object(new));
            assert_eq!(
                IngressClass.validate_update(Naming::Svc.names(), Part::Main, &old, &new).len(),
                expect
            );
        };
        check("example.com/x", 0);
        check("example.com/y", 1);
    }
}
