//! Updates of a Service: allocated values that the client omits are kept, and fields that only the
//! old type needs are dropped.

use std::collections::{HashMap, HashSet};

use quorate_meta::{Map, Value};

use crate::core::service::fields as kind;

/// Prepares the new object of an update.
pub(super) fn prepare(old: &Value, new: &mut Value) {
    align_addresses(old, new);
    keep_allocated(old, new);
    drop_second(old, new);
    drop_unneeded(old, new);
    if kind::kind(new) != "LoadBalancer" {
        new.set_at(&["status", "loadBalancer"], Map::new());
    }
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
    // A port is known by its name: all else of it may have changed.
    let name = |port: &Value| port.str_at(&["name"]).unwrap_or_default().to_owned();
    let had: HashMap<_, i64> =
        before.iter().map(|port| (name(port), number(port, "nodePort"))).collect();
    for port in ports.iter_mut().filter(|port| number(port, "nodePort") == 0) {
        let kept = had.get(&name(port)).copied().unwrap_or_default();
        if kept != 0 && !used.contains(&kept) {
            port.set_at(&["nodePort"], kept);
        }
    }
}

/// Drops the second cluster IP and IP family of a Service that becomes single-stack, unless the
/// client has changed them.
fn drop_second(old: &Value, new: &mut Value) {
    let policy = |service: &Value| {
        field(service, "ipFamilyPolicy").and_then(Value::as_str).map(str::to_owned)
    };
    let had_both = matches!(policy(old).as_deref(), Some("PreferDualStack" | "RequireDualStack"));
    if !had_both || policy(new).as_deref() != Some("SingleStack") {
        return;
    }
    for name in ["clusterIPs", "ipFamilies"] {
        if same(old, new, name)
            && let Some(list) = new.at_mut(&["spec", name]).and_then(Value::as_list_mut)
        {
            list.truncate(1);
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
        let mut new = Value::from(json!({"spec": new}));
        prepare(&json!({"spec": old}).into(), &mut new);
        assert_eq!(new.get("spec"), Some(&expect.into()));
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
    fn the_second_family_goes_with_its_policy() {
        let dual = |policy: &str, all: &[&str], families: &[&str]| json!({"type": "ClusterIP", "clusterIP": all[0], "clusterIPs": all, "ipFamilies": families, "ipFamilyPolicy": policy});
        let (both, one) = (["10.0.0.5", "fd00::5"], ["10.0.0.5"]);
        let (two, four) = (["IPv4", "IPv6"], ["IPv4"]);
        for before in ["PreferDualStack", "RequireDualStack"] {
            let old = dual(before, &both, &two);
            changed(
                old.clone(),
                dual("SingleStack", &both, &two),
                dual("SingleStack", &one, &four),
            );
            // What the client has changed is left to validation.
            let other = ["10.0.0.5", "fd00::6"];
            let expect = dual("SingleStack", &other, &four);
            changed(old.clone(), dual("SingleStack", &other, &two), expect);
            changed(
                old.clone(),
                dual("PreferDualStack", &both, &two),
                dual("PreferDualStack", &both, &two),
            );
        }
    }

    #[test]
    fn every_type_leads_to_every_other() {
        let port = |node_port: Option<i64>| json!([{"port": 80, "nodePort": node_port}]);
        let addressed = |kind: &str, more: Json| {
            let mut spec = json!({"type": kind, "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"],
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]});
            let (Some(spec_fields), Json::Object(more)) = (spec.as_object_mut(), more) else {
                unreachable!()
            };
            spec_fields.extend(more);
            spec
        };
        let cluster = addressed("ClusterIP", json!({}));
        let node = addressed(
            "NodePort",
            json!({"externalTrafficPolicy": "Cluster", "ports": port(Some(30_001))}),
        );
        let balanced = addressed(
            "LoadBalancer",
            json!({"externalTrafficPolicy": "Local", "ports": port(Some(30_001)), "healthCheckNodePort": 30_002,
                "allocateLoadBalancerNodePorts": true, "loadBalancerClass": "a/b"}),
        );
        // The client changes the type and leaves all else as it has read it.
        let check = |old: &Json, kind: &str, expect: &[&str]| {
            let mut new = old.clone();
            new["type"] = json!(kind);
            let mut new = Value::from(
                json!({"spec": new, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
            );
            prepare(&json!({ "spec": old }).into(), &mut new);
            let spec = new.get("spec").and_then(Value::as_map).unwrap();
            let mut left: Vec<&str> = spec.iter().map(|(name, _)| name).collect();
            left.sort_unstable();
            left.retain(|name| !["type", "ports", "clusterIP", "clusterIPs"].contains(name));
            let node_port =
                new.at(&["spec", "ports"]).and_then(Value::as_list).unwrap()[0].get("nodePort");
            left.extend(node_port.filter(|port| !port.is_null()).map(|_| "nodePort"));
            left.extend(spec.get("clusterIP").map(|_| "clusterIP"));
            assert_eq!(left, expect, "{old} {kind}");
            let ingress = new.at(&["status", "loadBalancer", "ingress"]);
            assert_eq!(ingress.is_some(), kind == "LoadBalancer", "{kind}");
        };
        let families = ["ipFamilies", "ipFamilyPolicy"];
        let own = |more: &[&'static str], after: &[&'static str]| {
            let mut all = [&families[..], more].concat();
            all.sort_unstable();
            [&all[..], after].concat()
        };
        for kind in ["NodePort", "LoadBalancer"] {
            check(&cluster, kind, &own(&[], &["clusterIP"]));
        }
        check(&cluster, "ExternalName", &[]);
        check(&node, "ClusterIP", &own(&[], &["clusterIP"]));
        check(&node, "LoadBalancer", &own(&["externalTrafficPolicy"], &["nodePort", "clusterIP"]));
        check(&node, "ExternalName", &[]);
        check(&balanced, "ClusterIP", &own(&[], &["clusterIP"]));
        check(&balanced, "NodePort", &own(&["externalTrafficPolicy"], &["nodePort", "clusterIP"]));
        check(&balanced, "ExternalName", &[]);
    }

    #[test]
    fn node_ports_stay_with_their_ports() {
        let named = |name: &str, port: i64, node_port: Option<i64>| match node_port {
            Some(node_port) => json!({"name": name, "port": port, "nodePort": node_port}),
            None => json!({"name": name, "port": port}),
        };
        let port = |port: i64, node_port| named(&format!("p{port}"), port, node_port);
        let spec = |ports: &[Json]| json!({"type": "NodePort", "ports": ports});
        let old = spec(&[port(80, Some(30_001)), port(81, Some(30_002))]);
        let new = spec(&[port(81, None), port(82, None)]);
        changed(old.clone(), new, spec(&[port(81, Some(30_002)), port(82, None)]));
        // Another number of the same port keeps it; a node port that is in use elsewhere is left.
        let new = spec(&[named("p80", 8080, None), named("p81", 81, Some(30_001))]);
        changed(old.clone(), new.clone(), new);
        let new = spec(&[named("p80", 8080, None)]);
        changed(old.clone(), new, spec(&[named("p80", 8080, Some(30_001))]));
        let mut cluster = old.clone();
        cluster["type"] = json!("ClusterIP");
        let expect = json!({"type": "ClusterIP", "ports": [port(80, None), port(81, None)]});
        changed(old, cluster, expect);
    }
}
