//! Service: a name, addresses and ports for what serves. Checks are in `servicerules`, choices in `serviceholdings`.

mod addresses;
mod allocation;
mod annotations;
mod fields;
mod ranges;
mod validation;
mod warnings;

use std::collections::{HashMap, HashSet};

use quorate_meta::{Cause, Map, Names, Value};

use crate::core::service::allocation::ServiceAllocator;
use crate::core::service::fields as kind;
use quorate_registry::allocation::Allocator;
use quorate_registry::strategy::status;
use quorate_registry::{NameRule, Part, Strategy};

/// Seconds for which a client stays with its endpoint.
const AFFINITY_SECONDS: i64 = 10_800;

/// The semantics of services.
#[derive(Debug)]
pub(super) struct Service;

impl Strategy for Service {
    fn checks_structure(&self) -> bool {
        false
    }

    fn name_rule(&self) -> NameRule {
        NameRule::HostName
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        default_affinity(object);
        let (addressable, external, kind) =
            (kind::needs_address(object), kind::is_external(object), kind::kind(object));
        let balanced = kind == "LoadBalancer";
        let Some(spec) = object.get_mut("spec") else { return };
        let mut fill = |field: &str, wanted: bool, value: Value| {
            if wanted && spec.get(field).is_none_or(Value::is_empty) {
                spec.set_at(&[field], value);
            }
        };
        fill("externalTrafficPolicy", external, "Cluster".into());
        fill("internalTrafficPolicy", addressable, "Cluster".into());
        fill("allocateLoadBalancerNodePorts", balanced, true.into());
        for port in spec.get_mut("ports").and_then(Value::as_list_mut).into_iter().flatten() {
            let target = port.get("targetPort");
            if target.is_none_or(|target| target.is_empty() || target.as_i64() == Some(0)) {
                let same = port.get("port").cloned().unwrap_or_else(|| 0.into());
                port.set_at(&["targetPort"], same);
            }
        }
        let ingress = object.at_mut(&["status", "loadBalancer", "ingress"]).and_then(Value::as_list_mut);
        for entry in ingress.into_iter().flatten().filter(|_| balanced) {
            if entry.get("ipMode").is_none() && entry.get("ip").is_some_and(|ip| !ip.is_empty()) {
                entry.set_at(&["ipMode"], "VIP");
            }
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("loadBalancer", Map::new())]));
        let address = kind::address(object).to_owned();
        if !address.is_empty() && is_empty(object, "clusterIPs") {
            object.set_at(&["spec", "clusterIPs"], Value::List(vec![address.into()]));
        }
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        if part == Part::Main {
            align_addresses(old, new);
            keep_chosen(old, new);
            drop_unneeded(old, new);
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = validation::check(object);
        annotations::check(names, object, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        if part == Part::Main { validation::check_change(old, new) } else { Vec::new() }
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of(names, new)
    }

    fn allocator(&self) -> Option<&dyn Allocator> {
        Some(&ServiceAllocator)
    }
}

fn default_affinity(object: &mut Value) {
    const SECONDS: [&str; 3] = ["sessionAffinityConfig", "clientIP", "timeoutSeconds"];
    let Some(spec) = object.get_mut("spec") else { return };
    match spec.str_at(&["sessionAffinity"]) {
        Some("ClientIP") if spec.at(&SECONDS).is_none_or(Value::is_null) => {
            spec.set_at(
                &["sessionAffinityConfig"],
                Map::from([("clientIP", Map::from([("timeoutSeconds", AFFINITY_SECONDS)]))]),
            );
        }
        Some("None") => drop(spec.remove_at(&["sessionAffinityConfig"])),
        _ => {}
    }
}

fn field<'v>(service: &'v Value, name: &str) -> Option<&'v Value> {
    service.at(&["spec", name])
}

fn is_empty(service: &Value, name: &str) -> bool {
    field(service, name).is_none_or(Value::is_empty)
}

fn same(old: &Value, new: &Value, name: &str) -> bool {
    field(old, name) == field(new, name) || (is_empty(old, name) && is_empty(new, name))
}

/// A writer that knows only one of the two fields of addresses means both.
fn align_addresses(old: &Value, new: &mut Value) {
    let (before, after) = (kind::address(old), kind::address(new).to_owned());
    if before == after || !same(old, new, "clusterIPs") {
        return;
    }
    if after.is_empty() {
        new.remove_at(&["spec", "clusterIPs"]);
    } else {
        new.set_at(&["spec", "clusterIPs"], Value::List(vec![after.into()]));
    }
}

/// What was chosen for the old object stays when the writer does not say it.
fn keep_chosen(old: &Value, new: &mut Value) {
    let copy = |new: &mut Value, name: &str| {
        if let Some(value) = field(old, name).filter(|_| is_empty(new, name)) {
            new.set_at(&["spec", name], value.clone());
        }
    };
    if kind::needs_address(old) && kind::needs_address(new) {
        copy(new, "clusterIP");
        if kind::address(old) == kind::address(new) {
            copy(new, "clusterIPs");
        }
        copy(new, "ipFamilies");
        copy(new, "ipFamilyPolicy");
    }
    if kind::may_have_node_ports(old) && kind::may_have_node_ports(new) {
        keep_node_ports(old, new);
    }
    if kind::needs_health_port(old) && kind::needs_health_port(new) && health_port(new) == 0 {
        copy(new, "healthCheckNodePort");
    }
}

fn health_port(service: &Value) -> i64 {
    field(service, "healthCheckNodePort").and_then(Value::as_i64).unwrap_or_default()
}

fn keep_node_ports(old: &Value, new: &mut Value) {
    let number = |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let before = field(old, "ports").and_then(Value::as_list).unwrap_or_default();
    let ports = new.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut);
    let Some(ports) = ports else { return };
    let used: HashSet<i64> = ports.iter().map(|port| number(port, "nodePort")).collect();
    let identity = |port: &Value| (port.str_at(&["protocol"]).map(str::to_owned), number(port, "port"));
    let mut had: HashMap<_, i64> = HashMap::new();
    for old in before {
        had.entry(identity(old)).or_insert(number(old, "nodePort"));
    }
    for port in ports.iter_mut().filter(|port| number(port, "nodePort") == 0) {
        let kept = had.get(&identity(port)).copied().unwrap_or_default();
        if kept != 0 && !used.contains(&kept) {
            port.set_at(&["nodePort"], kept);
        }
    }
}

/// A service of another type loses what only the old type needed, unless the writer has changed it.
fn drop_unneeded(old: &Value, new: &mut Value) {
    let drop_same = |new: &mut Value, name: &str| {
        if same(old, new, name) {
            new.remove_at(&["spec", name]);
        }
    };
    if kind::needs_address(old) && !kind::needs_address(new) {
        if same(old, new, "clusterIPs") {
            drop_same(new, "clusterIP");
        }
        for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            drop_same(new, name);
        }
    }
    if kind::may_have_node_ports(old) && !kind::may_have_node_ports(new) {
        drop_node_ports(old, new);
    }
    if kind::needs_health_port(old) && !kind::needs_health_port(new) {
        drop_same(new, "healthCheckNodePort");
    }
    if kind::kind(old) == "LoadBalancer" && kind::kind(new) != "LoadBalancer" {
        drop_same(new, "allocateLoadBalancerNodePorts");
        drop_same(new, "loadBalancerClass");
    }
    if kind::is_external(old) && !kind::is_external(new) {
        drop_same(new, "externalTrafficPolicy");
    }
}

fn drop_node_ports(old: &Value, new: &mut Value) {
    fn ports(service: &Value) -> Vec<Option<&Value>> {
        let ports = field(service, "ports").and_then(Value::as_list).unwrap_or_default();
        ports.iter().map(|port| port.get("nodePort")).collect()
    }
    if ports(old) == ports(new) {
        for port in new.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut).into_iter().flatten() {
            port.remove_at(&["nodePort"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn defaults_follow_the_type() {
        let check = |spec: Json, expect: Json| {
            let mut object = json!({"spec": spec}).into();
            Service.default(Naming::Svc.names(), &mut object);
            assert_eq!(object, json!({"spec": expect}).into());
        };
        check(json!({"type": "ClusterIP"}), json!({"type": "ClusterIP", "internalTrafficPolicy": "Cluster"}));
        let outside = json!({"type": "ClusterIP", "externalIPs": ["192.0.2.1"], "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster"});
        check(json!({"type": "ClusterIP", "externalIPs": ["192.0.2.1"]}), outside);
        let balanced = json!({
            "type": "LoadBalancer", "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Cluster",
            "allocateLoadBalancerNodePorts": true
        });
        check(json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}), balanced);
        check(json!({"type": "ExternalName"}), json!({"type": "ExternalName"}));
        let ports = |target: Json| json!({"type": "ExternalName", "ports": [{"port": 80, "targetPort": target}]});
        check(ports(json!(0)), ports(json!(80)));
        check(ports(json!("")), ports(json!(80)));
        check(ports(json!("http")), ports(json!("http")));
        let affine = json!({"type": "ExternalName", "sessionAffinity": "ClientIP"});
        let config = json!({"clientIP": {"timeoutSeconds": 10_800}});
        check(
            affine.clone(),
            json!({"type": "ExternalName", "sessionAffinity": "ClientIP", "sessionAffinityConfig": config}),
        );
        check(
            json!({"type": "ExternalName", "sessionAffinity": "None", "sessionAffinityConfig": config}),
            json!({"type": "ExternalName", "sessionAffinity": "None"}),
        );
    }

    #[track_caller]
    fn changed(old: Json, new: Json, expect: Json) {
        let mut new = json!({"spec": new}).into();
        Service.prepare_update(Naming::Svc.names(), Part::Main, &json!({"spec": old}).into(), &mut new);
        assert_eq!(new, json!({"spec": expect}).into());
    }

    #[test]
    fn what_was_chosen_stays() {
        let own = json!({"type": "ClusterIP", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"});
        changed(own.clone(), json!({"type": "ClusterIP"}), own.clone());
        let mut cleared = own.clone();
        cleared["clusterIP"] = json!("");
        changed(own.clone(), cleared, own.clone());
        let mut other = own.clone();
        other["clusterIP"] = json!("10.0.0.6");
        let mut expect = other.clone();
        expect["clusterIPs"] = json!(["10.0.0.6"]);
        changed(own.clone(), other, expect);
        changed(own, json!({"type": "ExternalName"}), json!({"type": "ExternalName"}));
        let (named, headless) = (json!({"type": "ExternalName"}), json!({"type": "ClusterIP", "clusterIP": "None"}));
        let expect = json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]});
        changed(named, headless, expect);
    }

    #[test]
    fn node_ports_stay_with_their_ports() {
        let port = |port: i64, node_port: Option<i64>| match node_port {
            Some(node_port) => json!({"port": port, "protocol": "TCP", "nodePort": node_port}),
            None => json!({"port": port, "protocol": "TCP"}),
        };
        let spec = |ports: &[Json]| json!({"type": "NodePort", "ports": ports});
        let old = spec(&[port(80, Some(30_001)), port(81, Some(30_002))]);
        let new = spec(&[port(81, None), port(82, None)]);
        changed(old.clone(), new, spec(&[port(81, Some(30_002)), port(82, None)]));
        let mut cluster = old.clone();
        cluster["type"] = json!("ClusterIP");
        let expect = json!({"type": "ClusterIP", "ports": [port(80, None), port(81, None)]});
        changed(old, cluster, expect);
    }
}
