//! Updates of a Service: allocated values that the client omits are kept, and fields that only the
//! old type needs are dropped.

use std::collections::{HashMap, HashSet};

use quorate_meta::Value;

use crate::core::service::fields as kind;

/// Prepares the new object of an update.
pub(super) fn prepare(old: &Value, new: &mut Value) {
    align_addresses(old, new);
    keep_allocated(old, new);
    drop_unneeded(old, new);
}

/// Aligns `clusterIPs` with `clusterIP` when the client has changed only the latter.
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

/// Restores allocated values that the client omitted.
fn keep_allocated(old: &Value, new: &mut Value) {
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
    let number =
        |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let before = field(old, "ports").and_then(Value::as_list).unwrap_or_default();
    let ports = new.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut);
    let Some(ports) = ports else { return };
    let used: HashSet<i64> = ports.iter().map(|port| number(port, "nodePort")).collect();
    let identity =
        |port: &Value| (port.str_at(&["protocol"]).map(str::to_owned), number(port, "port"));
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

/// Drops fields that only the old type needs, unless the client has changed them.
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
        for port in
            new.at_mut(&["spec", "ports"]).and_then(Value::as_list_mut).into_iter().flatten()
        {
            port.remove_at(&["nodePort"]);
        }
    }
}

fn field<'v>(service: &'v Value, name: &str) -> Option<&'v Value> {
    service.at(&["spec", name])
}

/// Whether a field of the specification is absent or empty.
pub(super) fn is_empty(service: &Value, name: &str) -> bool {
    field(service, name).is_none_or(Value::is_empty)
}

fn same(old: &Value, new: &Value, name: &str) -> bool {
    field(old, name) == field(new, name) || (is_empty(old, name) && is_empty(new, name))
}
#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn changed(old: Json, new: Json, expect: Json) {
        let mut new = json!({"spec": new}).into();
        prepare(&json!({"spec": old}).into(), &mut new);
        assert_eq!(new, json!({"spec": expect}).into());
    }

    #[test]
    fn allocated_values_are_kept() {
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
        let (named, headless) =
            (json!({"type": "ExternalName"}), json!({"type": "ClusterIP", "clusterIP": "None"}));
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
