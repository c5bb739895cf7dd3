//! Ingress: routes of HTTP requests to Services.
//!
//! Its rules are checked in `ingress_rules`.

use quorate_meta::{Cause, Map, Names, Path, Value, name};

use super::ingress_rules;
use crate::field::Field;
use crate::{load_balancer_status, rules};
use quorate_registry::Strategy;

/// The strategy of Ingress.
#[derive(Debug)]
pub(super) struct Ingress;

impl Strategy for Ingress {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("loadBalancer", Map::new())]));
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        let spec = object.get("spec");
        let backend = spec.get("defaultBackend");
        if spec.get("rules").is_empty() && !backend.is_set() {
            let why = "either `defaultBackend` or `rules` must be specified";
            causes.push(Cause::invalid(spec.path(), Value::Null, why));
        }
        if backend.is_set() {
            ingress_rules::backend(&backend, &mut causes);
        }
        for rule in spec.get("rules").items() {
            ingress_rules::rule(&rule, &mut causes);
        }
        let class = spec.get("ingressClassName");
        if class.is_set() {
            causes.extend(class.invalid_for(&name::dns_subdomain(class.text())));
        }
        for tls in spec.get("tls").items() {
            for host in tls.get("hosts").items() {
                causes.extend(host.invalid_for(&ingress_rules::host_problems(host.text())));
            }
            rules::optional_name(&tls.get("secretName"), name::dns_subdomain, &mut causes);
        }
        load_balancer_status::check_addresses(&object.get("status.loadBalancer"), &mut causes);
        causes
    }

    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let annotation = names.domain_key("ingress.class");
        let asked = object.str_at(&["metadata", "annotations", &annotation]).unwrap_or_default();
        match object.str_at(&["spec", "ingressClassName"]) {
            Some(class) if !asked.is_empty() && asked != class => {
                let why = "must match `ingressClassName` when both are specified";
                vec![Cause::invalid(Path::new("annotations").child(&annotation), asked, why)]
            }
            _ => Vec::new(),
        }
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let annotation = names.domain_key("ingress.class");
        let warned = new.at(&["metadata", "annotations", &annotation]).is_some()
            && new.at(&["spec", "ingressClassName"]).is_none();
        if !warned {
            return Vec::new();
        }
        vec![format!(
            "annotation {annotation:?} is deprecated, please use 'spec.ingressClassName' instead"
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn minimal() -> Json {
        json!({"metadata": {"name": "a"}, "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}})
    }

    #[test]
    fn specs() {
        let check = |changes: &[(&str, Json)], expect: &[&str]| {
            let causes = Ingress.validate(Naming::Svc.names(), &patched(&minimal(), changes));
            assert_eq!(shown(&causes), expect, "{changes:?}");
        };
        check(&[], &[]);
        check(&[("/spec", json!({}))], &["Invalid spec"]);
        check(&[("/spec/ingressClassName", json!("A b"))], &["Invalid spec.ingressClassName"]);
        check(
            &[(
                "/spec/tls",
                json!([{"hosts": ["x.example.com", "*.y.example.com"], "secretName": "s"}]),
            )],
            &[],
        );
        check(&[("/spec/tls", json!([{"hosts": ["A_b"]}]))], &["Invalid spec.tls[0].hosts[0]"]);
        let status = json!({"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "A_b"}]}});
        let expect = [
            "Invalid status.loadBalancer.ingress[0].ip",
            "Invalid status.loadBalancer.ingress[1].hostname",
        ];
        check(&[("/status", status)], &expect);
    }

    #[test]
    fn the_class_is_named_once() {
        let check = |annotation: &str, class: Option<&str>, expect: usize, warned: usize| {
            let mut object = Value::from(minimal());
            object.set_at(&["metadata", "annotations", "svc.io/ingress.class"], annotation);
            if let Some(class) = class {
                object.set_at(&["spec", "ingressClassName"], class);
            }
            assert_eq!(Ingress.validate_create(Naming::Svc.names(), &object).len(), expect);
            assert_eq!(Ingress.warnings(Naming::Svc.names(), None, &object).len(), warned);
        };
        check("c", None, 0, 1);
        check("c", Some("c"), 0, 0);
        check("c", Some("d"), 1, 0);
    }

    #[test]
    fn a_new_ingress_has_no_address() {
        let mut object = patched(
            &minimal(),
            &[("/status", json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}))],
        );
        Ingress.prepare_create(Naming::Svc.names(), &mut object);
        assert_eq!(object.get("status"), Some(&json!({"loadBalancer": {}}).into()));
    }
}
