//! EndpointSlice: a part of the endpoints of a Service.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Value, name};

use crate::field::Field;
use crate::{address_warnings, rules};
use quorate_meta::net;
use quorate_registry::{Part, Strategy};

/// Endpoints of a slice, at most.
const MAX_ENDPOINTS: usize = 1000;
/// Addresses of an endpoint, at most.
const MAX_ADDRESSES: usize = 100;
/// Ports of a slice, at most.
const MAX_PORTS: usize = 20_000;
/// Zones or nodes in the hints of an endpoint, at most.
const MAX_HINTS: usize = 8;

/// The strategy of EndpointSlice.
#[derive(Debug)]
pub(super) struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    /// Labels count too: a label names the Service of a slice.
    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        let labels = |object: &Value| object.at(&["metadata", "labels"]).cloned();
        quorate_registry::strategy::intent_differs(old, new) || labels(old) != labels(new)
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        normalize(object);
    }

    fn prepare_update(&self, _: &Names, _: Part, _: &Value, new: &mut Value) {
        normalize(new);
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        let kind = object.get("addressType");
        rules::one_of(&kind, &["FQDN", "IPv4", "IPv6"], &mut causes);
        let endpoints = object.get("endpoints");
        if endpoints.items().len() > MAX_ENDPOINTS {
            causes.push(Cause::too_many(endpoints.path(), endpoints.items().len(), MAX_ENDPOINTS));
        } else {
            endpoints
                .items()
                .for_each(|endpoint| check_endpoint(&endpoint, kind.text(), &mut causes));
        }
        check_ports(&object.get("ports"), &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let kind = |object| Field::root(object).get("addressType");
        rules::immutable(&kind(old), &kind(new), &mut causes);
        causes
    }

    fn warnings(&self, _: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        if new.str_at(&["addressType"]) == Some("FQDN") {
            return vec!["spec.addressType: FQDN endpoints are deprecated".to_owned()];
        }
        let mut warnings = Vec::new();
        for endpoint in Field::root(new).get("endpoints").items() {
            warnings.extend(
                endpoint
                    .get("addresses")
                    .items()
                    .filter_map(|own| address_warnings::of_address(&own)),
            );
        }
        warnings
    }
}

/// Normalizes a slice: empty lists are `null`, and `deprecatedTopology` of v1beta1 is removed.
fn normalize(object: &mut Value) {
    for list in ["endpoints", "ports"] {
        rules::null_when_empty(object, &[list]);
    }
    for endpoint in object.get_mut("endpoints").and_then(Value::as_list_mut).into_iter().flatten() {
        endpoint.remove_at(&["deprecatedTopology"]);
    }
}

fn check_endpoint(endpoint: &Field<'_>, kind: &str, causes: &mut Vec<Cause>) {
    let addresses = endpoint.get("addresses");
    match addresses.items().len() {
        0 => causes.push(addresses.required("must contain at least 1 address")),
        count if count > MAX_ADDRESSES => {
            causes.push(Cause::too_many(addresses.path(), count, MAX_ADDRESSES))
        }
        _ => {}
    }
    for address in addresses.items() {
        check_address(&addresses, &address, kind, causes);
    }
    rules::optional_name(&endpoint.get("nodeName"), name::dns_subdomain, causes);
    rules::optional_name(&endpoint.get("hostname"), name::dns_label, causes);
    for field in ["hints.forZones", "hints.forNodes"] {
        let hints = endpoint.get(field);
        if hints.items().len() > MAX_HINTS {
            causes.push(Cause::too_many(hints.path(), hints.items().len(), MAX_HINTS));
            continue;
        }
        let mut seen = HashSet::new();
        for hint in hints.items().map(|hint| hint.get("name")) {
            if !seen.insert(hint.text()) {
                causes.push(hint.duplicate());
            }
            causes.extend(hint.invalid_for(&name::label_value(hint.text())));
        }
    }
}

fn check_address(all: &Field<'_>, address: &Field<'_>, kind: &str, causes: &mut Vec<Cause>) {
    let text = address.text();
    if kind == "FQDN" {
        causes.extend(address.invalid_for(&full_name(text)));
        return;
    }
    let Some(parsed) = net::address(text) else {
        rules::address(address, causes);
        return;
    };
    let expected = match kind {
        "IPv4" if !parsed.is_ipv4() => Some("must be an IPv4 address"),
        "IPv6" if parsed.is_ipv4() => Some("must be an IPv6 address"),
        _ => None,
    };
    causes.extend(expected.map(|why| Cause::invalid(all.path(), text, why)));
    causes.extend(address.invalid_for(&net::not_of_an_endpoint(parsed)));
}

/// Why a text is no domain name with at least two labels.
fn full_name(text: &str) -> Vec<String> {
    let mut wrong = name::dns_subdomain(text);
    if wrong.is_empty() && !text.contains('.') {
        wrong.push("should be a domain with at least two segments separated by dots".to_owned());
    }
    wrong
}

fn check_ports(ports: &Field<'_>, causes: &mut Vec<Cause>) {
    if ports.items().len() > MAX_PORTS {
        causes.push(Cause::too_many(ports.path(), ports.items().len(), MAX_PORTS));
        return;
    }
    let mut names = HashSet::new();
    for entry in ports.items() {
        let port_name = entry.get("name");
        rules::optional_name(&port_name, name::dns_label, causes);
        if !names.insert(port_name.text()) {
            causes.push(Cause::duplicate(port_name.path(), port_name.text()));
        }
        rules::one_of(&entry.get("protocol"), &rules::PROTOCOLS, causes);
        if entry.get("port").is_set() {
            rules::port(&entry.get("port"), causes);
        }
        rules::optional_name(&entry.get("appProtocol"), name::qualified_name, causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn slice() -> Json {
        let port = json!({"name": "", "port": 80, "protocol": "TCP"});
        json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"]}], "ports": [port]})
    }

    #[test]
    fn slices() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let object = patched(&slice(), &[(pointer, value)]);
            assert_eq!(
                shown(&EndpointSlice.validate(Naming::Svc.names(), &object)),
                expect,
                "{pointer}"
            );
        };
        check("/endpoints", json!(null), &[]);
        check("/addressType", json!(null), &["Required addressType"]);
        check("/addressType", json!("IPv5"), &["NotSupported addressType"]);
        check("/endpoints/0/addresses", json!([]), &["Required endpoints[0].addresses"]);
        check("/endpoints/0/addresses/0", json!("fd00::1"), &["Invalid endpoints[0].addresses"]);
        for bad in ["x", "127.0.0.1", "169.254.0.1", "224.0.0.1", "0.0.0.0"] {
            check("/endpoints/0/addresses/0", json!(bad), &["Invalid endpoints[0].addresses[0]"]);
        }
        check("/endpoints/0/hostname", json!("A_b"), &["Invalid endpoints[0].hostname"]);
        check("/endpoints/0/nodeName", json!("A b"), &["Invalid endpoints[0].nodeName"]);
        let zones = json!({"forZones": [{"name": "z"}, {"name": "z"}]});
        check("/endpoints/0/hints", zones, &["Duplicate endpoints[0].hints.forZones[1].name"]);
        check("/ports/1", json!({"protocol": "TCP"}), &["Duplicate ports[1].name"]);
        check("/ports/0/name", json!("A_b"), &["Invalid ports[0].name"]);
        check("/ports/0/protocol", json!("ICMP"), &["NotSupported ports[0].protocol"]);
        check("/ports/0/port", json!(0), &["Invalid ports[0].port"]);
        check(
            "/endpoints",
            json!(vec![json!({"addresses": ["10.1.1.1"]}); 1001]),
            &["TooMany endpoints"],
        );
    }

    #[test]
    fn names_instead_of_addresses() {
        let check = |address: &str, expect: usize| {
            let object = patched(
                &slice(),
                &[("/addressType", json!("FQDN")), ("/endpoints/0/addresses/0", json!(address))],
            );
            assert_eq!(
                EndpointSlice.validate(Naming::Svc.names(), &object).len(),
                expect,
                "{address}"
            );
            assert_eq!(EndpointSlice.warnings(Naming::Svc.names(), None, &object).len(), 1);
        };
        check("a.example.com", 0);
        check("a", 1);
        check("A_b", 1);
    }

    #[test]
    fn labels_count_as_intent() {
        let check = |old: Json, new: Json, expect: bool| {
            assert_eq!(EndpointSlice.changes_intent(&old.into(), &new.into()), expect);
        };
        check(slice(), slice(), false);
        check(json!({"metadata": {"labels": {"a": "b"}}}), json!({"metadata": {}}), true);
        check(json!({"metadata": {"annotations": {"a": "b"}}}), json!({"metadata": {}}), false);
        check(json!({"ports": null}), slice(), true);
    }

    #[test]
    fn deprecated_topology_is_dropped() {
        let mut object =
            patched(&slice(), &[("/endpoints/0/deprecatedTopology", json!({"k": "v"}))]);
        EndpointSlice.prepare_create(Naming::Svc.names(), &mut object);
        assert_eq!(object, slice().into());
    }
}
