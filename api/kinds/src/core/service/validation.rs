//! Validation of Services.
//!
//! Cluster IPs and IP families are checked in `addresses`.

use std::collections::HashSet;

use quorate_meta::{Cause, Value, name};

use crate::core::service::{addresses, fields as kind};
use crate::field::Field;
use crate::{load_balancer_status, rules};
use quorate_meta::net;

/// The longest timeout of `ClientIP` session affinity, in seconds.
const MAX_AFFINITY_SECONDS: i64 = 86_400;

/// Checks a Service.
pub(super) fn check(service: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = Field::root(service).get("spec");
    check_kind(service, &spec, &mut causes);
    check_ports(service, &spec.get("ports"), &mut causes);
    rules::labels(&spec.get("selector"), &mut causes);
    check_affinity(&spec, &mut causes);
    addresses::check(service, &spec, &mut causes);
    for address in spec.get("externalIPs").items() {
        match net::address(address.text()) {
            Some(parsed) => causes.extend(address.invalid_for(&net::not_of_an_endpoint(parsed))),
            None => rules::address(&address, &mut causes),
        }
    }
    check_balancing(service, &spec, &mut causes);
    check_traffic(service, &spec, &mut causes);
    check_status(service, &mut causes);
    causes
}

/// Checks a change, besides [`check`].
pub(super) fn check_change(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = addresses::check_change(old, new);
    let field = |object, name| Field::root(object).get("spec").get(name);
    if kind::kind(old) == "LoadBalancer" && kind::kind(new) == "LoadBalancer" {
        let (before, after) = (field(old, "loadBalancerClass"), field(new, "loadBalancerClass"));
        if before.value() != after.value() {
            causes.push(after.invalid("may not change once set"));
        }
    }
    if kind::needs_health_port(old) && kind::needs_health_port(new) {
        let (before, after) =
            (field(old, "healthCheckNodePort"), field(new, "healthCheckNodePort"));
        if before.int().unwrap_or_default() != after.int().unwrap_or_default() {
            causes.push(after.forbidden(rules::IMMUTABLE));
        }
    }
    causes
}

fn check_kind(service: &Value, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    const KINDS: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let (own, headless) = (spec.get("type"), kind::address(service) == kind::HEADLESS);
    rules::one_of(&own, &KINDS, causes);
    if spec.get("ports").is_empty() && !headless && own.text() != "ExternalName" {
        causes.push(spec.get("ports").required(""));
    }
    if headless && kind::may_have_node_ports(service) {
        let why = format!("may not be set to 'None' for {} services", own.text());
        causes.push(Cause::invalid(spec.get("clusterIPs").path().index(0), kind::HEADLESS, &why));
    }
    if own.text() == "ExternalName" {
        let name = spec.get("externalName");
        let text = name.text().strip_suffix('.').unwrap_or(name.text());
        if text.is_empty() {
            causes.push(name.required(""));
        } else {
            causes.extend(name.invalid_for(&name::dns_subdomain(text)));
        }
    }
}

fn check_ports(service: &Value, ports: &Field<'_>, causes: &mut Vec<Cause>) {
    let (mut names, mut pairs, mut node_ports) = (HashSet::new(), HashSet::new(), HashSet::new());
    for entry in ports.items() {
        let (own, protocol, number) = (entry.get("name"), entry.get("protocol"), entry.get("port"));
        if own.is_empty() && ports.items().len() > 1 {
            causes.push(own.required(""));
        }
        rules::optional_name(&own, name::dns_label, causes);
        if !own.is_empty() && !names.insert(own.text()) {
            causes.push(own.duplicate());
        }
        rules::port(&number, causes);
        rules::one_of(&protocol, &rules::PROTOCOLS, causes);
        rules::port_or_name(&entry.get("targetPort"), causes);
        rules::optional_name(&entry.get("appProtocol"), name::qualified_name, causes);
        if !pairs.insert((protocol.text(), number.int())) {
            causes.push(entry.duplicate());
        }
        let node_port = entry.get("nodePort");
        if node_port.int().unwrap_or_default() == 0 {
            continue;
        }
        if kind::kind(service) == "ClusterIP" {
            causes.push(node_port.forbidden("may not be used when `type` is 'ClusterIP'"));
        }
        if !node_ports.insert((protocol.text(), node_port.int())) {
            causes.push(node_port.duplicate());
        }
    }
}

fn check_affinity(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (affinity, config) = (spec.get("sessionAffinity"), spec.get("sessionAffinityConfig"));
    rules::one_of(&affinity, &["ClientIP", "None"], causes);
    let seconds = config.get("clientIP.timeoutSeconds");
    match affinity.text() {
        "ClientIP" if !seconds.is_set() => {
            causes.push(seconds.required("when session affinity type is ClientIP"));
        }
        "ClientIP" => {
            rules::between(
                &seconds,
                1,
                MAX_AFFINITY_SECONDS,
                "must be greater than 0 and less than 86400",
                causes,
            );
        }
        "None" if config.is_set() => {
            causes.push(config.forbidden("must not be set when session affinity is None"));
        }
        _ => {}
    }
}

fn check_balancing(service: &Value, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let (class, ranges, wanted) = (
        spec.get("loadBalancerClass"),
        spec.get("loadBalancerSourceRanges"),
        spec.get("allocateLoadBalancerNodePorts"),
    );
    if kind::kind(service) != "LoadBalancer" {
        if !ranges.is_empty() {
            causes.push(Cause::forbidden("spec.LoadBalancerSourceRanges", ONLY));
        }
        causes.extend(
            [class, wanted]
                .iter()
                .filter(|field| field.is_set())
                .map(|field| field.forbidden(ONLY)),
        );
        return;
    }
    for range in ranges.items().filter(|range| net::Range::parse(range.text().trim()).is_none()) {
        causes.push(range.invalid(net::NOT_A_RANGE));
    }
    if class.is_set() {
        causes.extend(class.invalid_for(&name::qualified_name(class.text())));
    }
    if !wanted.is_set() {
        causes.push(wanted.required(""));
    }
}

fn check_traffic(service: &Value, spec: &Field<'_>, causes: &mut Vec<Cause>) {
    const POLICIES: [&str; 2] = ["Cluster", "Local"];
    let (external, internal) =
        (spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy"));
    if kind::is_external(service) {
        rules::one_of(&external, &POLICIES, causes);
    } else if !external.is_empty() {
        causes.push(external.invalid("may only be set for externally-accessible services"));
    }
    if kind::needs_address(service) || internal.is_set() {
        rules::one_of(&internal, &POLICIES, causes);
    }
    let health = spec.get("healthCheckNodePort");
    if health.int().unwrap_or_default() != 0 && !kind::needs_health_port(service) {
        let why =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(health.invalid(why));
    }
    let distribution = spec.get("trafficDistribution");
    rules::optional_one_of(
        &distribution,
        &["PreferClose", "PreferSameNode", "PreferSameZone"],
        causes,
    );
}

fn check_status(service: &Value, causes: &mut Vec<Cause>) {
    let balancer = Field::root(service).get("status.loadBalancer");
    let entries = balancer.get("ingress");
    if !entries.is_empty() && kind::kind(service) != "LoadBalancer" {
        causes.push(entries.forbidden("may only be used when `spec.type` is \"LoadBalancer\""));
        return;
    }
    load_balancer_status::check_addresses(&balancer, causes);
    for entry in entries.items() {
        let mode = entry.get("ipMode");
        match (entry.get("ip").is_empty(), mode.is_set()) {
            (true, true) => {
                causes.push(mode.forbidden("may not be specified when `ip` is not set"))
            }
            (false, false) => causes.push(mode.required("must be specified when `ip` is set")),
            (false, true) => rules::optional_one_of(&mode, &["Proxy", "VIP"], causes),
            (true, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use serde_json::{Value as Json, json};

    fn service() -> Json {
        let port = json!({"port": 80, "protocol": "TCP", "targetPort": 80});
        let spec = json!({
            "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster", "ports": [port]
        });
        json!({"spec": spec, "status": {"loadBalancer": {}}})
    }

    #[track_caller]
    fn refused(changes: &[(&str, Json)], expect: &[&str]) {
        assert_eq!(shown(&check(&patched(&service(), changes))), expect, "{changes:?}");
    }

    #[test]
    fn types() {
        refused(&[], &[]);
        refused(&[("/spec/type", json!("Magic"))], &["NotSupported spec.type"]);
        let unaddressed = [("/spec/clusterIP", json!(null)), ("/spec/clusterIPs", json!(null))];
        refused(
            &[&unaddressed[..], &[("/spec/ports", json!([]))]].concat(),
            &["Required spec.ports"],
        );
        let node =
            [("/spec/type", json!("NodePort")), ("/spec/externalTrafficPolicy", json!("Cluster"))];
        refused(&node, &["Invalid spec.clusterIPs[0]"]);
        let external =
            [("/spec/type", json!("ExternalName")), ("/spec/internalTrafficPolicy", json!(null))];
        let external = [&unaddressed[..], &external].concat();
        refused(&external, &["Required spec.externalName"]);
        refused(
            &[&external[..], &[("/spec/externalName", json!("A_b"))]].concat(),
            &["Invalid spec.externalName"],
        );
        refused(&[&external[..], &[("/spec/externalName", json!("a.example.com."))]].concat(), &[]);
    }

    #[test]
    fn ports() {
        let with = |port: Json, expect: &[&str]| refused(&[("/spec/ports/0", port)], expect);
        let port = |change: &[(&str, Json)]| {
            let port = json!({"port": 1, "protocol": "TCP", "targetPort": 1});
            serde_json::to_value(patched(&port, change)).unwrap()
        };
        with(port(&[("/port", json!(0))]), &["Invalid spec.ports[0].port"]);
        with(port(&[("/port", json!(65_536))]), &["Invalid spec.ports[0].port"]);
        with(port(&[("/protocol", json!("ICMP"))]), &["NotSupported spec.ports[0].protocol"]);
        for target in [json!("Not_A_Name"), json!(-1), json!("80")] {
            with(port(&[("/targetPort", target)]), &["Invalid spec.ports[0].targetPort"]);
        }
        with(port(&[("/nodePort", json!(30_001))]), &["Forbidden spec.ports[0].nodePort"]);
        let both = |first: Json, second: Json, expect: &[&str]| {
            refused(&[("/spec/ports", json!([first, second]))], expect)
        };
        let named =
            |name: &str, number: i64| port(&[("/name", json!(name)), ("/port", json!(number))]);
        both(port(&[]), named("b", 2), &["Required spec.ports[0].name"]);
        both(named("a", 1), named("a", 2), &["Duplicate spec.ports[1].name"]);
        both(named("a", 1), named("b", 1), &["Duplicate spec.ports[1]"]);
    }

    #[test]
    fn the_rest_of_the_spec() {
        let with = |field: &str, value: Json, expect: &[&str]| {
            refused(&[(&format!("/spec/{field}"), value)], expect)
        };
        with("sessionAffinity", json!("Always"), &["NotSupported spec.sessionAffinity"]);
        with("sessionAffinityConfig", json!({}), &["Forbidden spec.sessionAffinityConfig"]);
        let config = json!({"clientIP": {"timeoutSeconds": 86_401}});
        let affine =
            [("/spec/sessionAffinity", json!("ClientIP")), ("/spec/sessionAffinityConfig", config)];
        refused(&affine, &["Invalid spec.sessionAffinityConfig.clientIP.timeoutSeconds"]);
        with("selector", json!({"a b": "c"}), &["Invalid spec.selector"]);
        with("externalTrafficPolicy", json!("Local"), &["Invalid spec.externalTrafficPolicy"]);
        with("internalTrafficPolicy", json!("Some"), &["NotSupported spec.internalTrafficPolicy"]);
        with(
            "loadBalancerSourceRanges",
            json!(["1.2.3.0/24"]),
            &["Forbidden spec.LoadBalancerSourceRanges"],
        );
        with("loadBalancerClass", json!("x"), &["Forbidden spec.loadBalancerClass"]);
        with("healthCheckNodePort", json!(30_001), &["Invalid spec.healthCheckNodePort"]);
        with("trafficDistribution", json!("Far"), &["NotSupported spec.trafficDistribution"]);
        let outside = [
            ("/spec/externalIPs", json!(["x", "127.0.0.1"])),
            ("/spec/externalTrafficPolicy", json!("Cluster")),
        ];
        refused(&outside, &["Invalid spec.externalIPs[0]", "Invalid spec.externalIPs[1]"]);
    }

    #[test]
    fn only_load_balancers_have_a_status() {
        let status = |entry: Json, expect: &[&str]| {
            let balanced = [
                ("/spec/type", json!("LoadBalancer")),
                ("/spec/clusterIP", json!(null)),
                ("/spec/clusterIPs", json!(null)),
                ("/spec/externalTrafficPolicy", json!("Cluster")),
                ("/spec/allocateLoadBalancerNodePorts", json!(true)),
                ("/status/loadBalancer", json!({"ingress": [entry]})),
            ];
            refused(&balanced, expect);
        };
        const AT: &str = "status.loadBalancer.ingress[0]";
        status(json!({"ip": "192.0.2.1", "ipMode": "VIP"}), &[]);
        status(json!({"ip": "x", "ipMode": "VIP"}), &[&format!("Invalid {AT}.ip")]);
        status(json!({"hostname": "1.2.3.4"}), &[&format!("Invalid {AT}.hostname")]);
        status(json!({"hostname": "h", "ipMode": "VIP"}), &[&format!("Forbidden {AT}.ipMode")]);
        let entry = json!({"ingress": [{"hostname": "h"}]});
        refused(&[("/status/loadBalancer", entry)], &["Forbidden status.loadBalancer.ingress"]);
    }

    #[test]
    fn changes() {
        let check = |old: Json, new: Json, expect: &[&str]| {
            let (old, new) = (json!({"spec": old}).into(), json!({"spec": new}).into());
            assert_eq!(shown(&check_change(&old, &new)), expect);
        };
        let class =
            |class: Option<&str>| json!({"type": "LoadBalancer", "loadBalancerClass": class});
        check(class(Some("a/b")), class(Some("a/b")), &[]);
        check(class(Some("a/b")), class(Some("a/c")), &["Invalid spec.loadBalancerClass"]);
        check(class(Some("a/b")), json!({"type": "ClusterIP"}), &[]);
        let health = |port: i64| json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": port});
        check(health(30_001), health(30_002), &["Forbidden spec.healthCheckNodePort"]);
    }
}
