//! IPAddress: an address and the object that owns it.
//!
//! The IPAddresses of Services are written with the Service (see `core::service::allocation`).

use quorate_meta::{Cause, Names, Value, name};

use crate::field::Field;
use crate::rules;
use quorate_meta::net;
use quorate_registry::{NameRule, Part, Strategy};

/// The strategy of IPAddress.
#[derive(Debug)]
pub(super) struct IpAddress;

impl Strategy for IpAddress {
    fn checks_structure(&self) -> bool {
        false
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn unconditional_update(&self) -> bool {
        true
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        let own = object.get("metadata.name");
        match net::address(own.text()) {
            Some(address) if address.to_string() != own.text() => {
                causes.push(own.invalid(&format!("must be in canonical form ({address:?})")));
            }
            Some(_) => {}
            None => causes.push(Cause::invalid(own.path(), own.text(), net::NOT_AN_ADDRESS)),
        }
        let parent = object.get("spec.parentRef");
        if !parent.is_set() {
            causes.push(parent.required(""));
            return causes;
        }
        rules::optional_name(&parent.get("group"), name::dns_subdomain, &mut causes);
        for field in ["resource", "name"] {
            rules::name(&parent.get(field), name::path_segment, &mut causes);
        }
        rules::optional_name(&parent.get("namespace"), name::path_segment, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let parent = |object| Field::root(object).get("spec.parentRef");
        rules::immutable(&parent(old), &parent(new), &mut causes);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn names_are_addresses_and_parents_are_named() {
        let check = |name: &str, parent: serde_json::Value, expect: &[&str]| {
            let object = json!({"metadata": {"name": name}, "spec": {"parentRef": parent}}).into();
            assert_eq!(shown(&IpAddress.validate(Naming::Svc.names(), &object)), expect, "{name}");
        };
        let service = || json!({"resource": "services", "namespace": "default", "name": "a"});
        check("10.0.0.1", service(), &[]);
        check("fd00::1", service(), &[]);
        for bad in ["010.0.0.1", "FD00::1", "x"] {
            check(bad, service(), &["Invalid metadata.name"]);
        }
        check("10.0.0.1", json!(null), &["Required spec.parentRef"]);
        check(
            "10.0.0.1",
            json!({"resource": ""}),
            &["Required spec.parentRef.resource", "Required spec.parentRef.name"],
        );
        check(
            "10.0.0.1",
            json!({"group": "A_b", "resource": "r", "name": "a/b"}),
            &["Invalid spec.parentRef.group", "Invalid spec.parentRef.name"],
        );
    }

    #[test]
    fn the_parent_stays() {
        let object = |name: &str| {
            Value::from(json!({"spec": {"parentRef": {"resource": "services", "name": name}}}))
        };
        let change =
            |new| IpAddress.validate_update(Naming::Svc.names(), Part::Main, &object("a"), &new);
        assert_eq!(shown(&change(object("b"))), ["Invalid spec.parentRef"]);
        assert!(change(object("a")).is_empty());
    }
}
