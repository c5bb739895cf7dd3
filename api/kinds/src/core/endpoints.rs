//! Endpoints: all addresses of a Service in one object.
//!
//! Deprecated; clients use EndpointSlice.

use quorate_meta::{Cause, Names, Path, Time, Value, name};

use crate::field::Field;
use crate::{address_warnings, rules};
use quorate_meta::net;
use quorate_registry::Strategy;

/// The strategy of Endpoints.
#[derive(Debug)]
pub(super) struct Endpoints;

impl Strategy for Endpoints {
    fn checks_structure(&self) -> bool {
        false
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let annotation = format!("endpoints.{}", names.domain_key("last-change-trigger-time"));
        if let Some(text) = object.str_at(&["metadata", "annotations", &annotation])
            && Time::parse(text).is_err()
        {
            let path = Path::new("metadata.annotations").key(&annotation);
            causes.push(Cause::invalid(
                path,
                text,
                "should be RFC 3339 (2006-01-02T15:04:05Z07:00)",
            ));
        }
        for subset in Field::root(object).get("subsets").items() {
            check_subset(&subset, &mut causes);
        }
        causes
    }

    fn warnings(&self, _: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings = Vec::new();
        for subset in Field::root(new).get("subsets").items() {
            for list in ["addresses", "notReadyAddresses"].map(|field| subset.get(field)) {
                warnings.extend(
                    list.items().filter_map(|own| address_warnings::of_address(&own.get("ip"))),
                );
            }
        }
        warnings
    }
}

fn check_subset(subset: &Field<'_>, causes: &mut Vec<Cause>) {
    let lists = [subset.get("addresses"), subset.get("notReadyAddresses")];
    if lists.iter().all(Field::is_empty) {
        causes.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
    }
    for address in lists.iter().flat_map(Field::items) {
        let ip = address.get("ip");
        match net::address(ip.text()) {
            Some(parsed) => causes.extend(ip.invalid_for(&net::not_of_an_endpoint(parsed))),
            None => rules::address(&ip, causes),
        }
        rules::optional_name(&address.get("hostname"), host_name, causes);
        rules::optional_name(&address.get("nodeName"), name::dns_subdomain, causes);
    }
    let ports = subset.get("ports");
    for entry in ports.items() {
        let own = entry.get("name");
        if own.is_empty() && ports.items().len() > 1 {
            causes.push(own.required(""));
        }
        rules::optional_name(&own, host_name, causes);
        rules::port(&entry.get("port"), causes);
        rules::one_of(&entry.get("protocol"), &rules::PROTOCOLS, causes);
        rules::optional_name(&entry.get("appProtocol"), name::qualified_name, causes);
    }
}

/// Why a text is no label of a host name.
fn host_name(text: &str) -> Vec<String> {
    if text.contains('.') {
        vec!["must not contain dots".to_owned()]
    } else {
        name::dns_label(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn subsets() {
        let ports = json!([{"name": "h", "port": 80, "protocol": "TCP"}, {"name": "d", "port": 53, "protocol": "UDP"}]);
        let base = json!({"subsets": [{"addresses": [{"ip": "10.1.1.1", "hostname": "h", "nodeName": "n"}], "ports": ports}]});
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let object = patched(&base, &[(&format!("/subsets{pointer}"), value)]);
            assert_eq!(
                shown(&Endpoints.validate(Naming::Svc.names(), &object)),
                expect,
                "{pointer}"
            );
        };
        check("", json!([]), &[]);
        check("/0/addresses", json!(null), &["Required subsets[0]"]);
        for bad in ["x", "127.0.0.1", "169.254.1.1", "fe80::1"] {
            check("/0/addresses/0/ip", json!(bad), &["Invalid subsets[0].addresses[0].ip"]);
        }
        check(
            "/0/notReadyAddresses",
            json!([{"ip": "x"}]),
            &["Invalid subsets[0].notReadyAddresses[0].ip"],
        );
        check(
            "/0/addresses/0/hostname",
            json!("a.b"),
            &["Invalid subsets[0].addresses[0].hostname"],
        );
        check("/0/ports/0/name", json!(null), &["Required subsets[0].ports[0].name"]);
        check("/0/ports/0/port", json!(0), &["Invalid subsets[0].ports[0].port"]);
        check("/0/ports/0/protocol", json!("ICMP"), &["NotSupported subsets[0].ports[0].protocol"]);
        check("/0/ports", json!([{"port": 80, "protocol": "TCP"}]), &[]);
    }

    #[test]
    fn the_time_of_the_trigger_is_a_time() {
        let check = |time: &str, expect: usize| {
            let annotations = json!({"endpoints.svc.io/last-change-trigger-time": time});
            let object = json!({"metadata": {"annotations": annotations}}).into();
            assert_eq!(Endpoints.validate(Naming::Svc.names(), &object).len(), expect);
        };
        check("2001-01-01T00:00:00Z", 0);
        check("yesterday", 1);
    }
}
