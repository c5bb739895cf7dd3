//! Cells of services, their endpoints, and what routes to them.

use quorate_meta::Value;

use super::join::{
    NONE, UNSET, condition, first_few, items, join, labels, selector, sorted, text, texts,
};
use super::special::Special;

/// The function of a column that has one.
pub(super) fn special(kind: &str, column: &str) -> Option<Special> {
    Some(match (kind, column) {
        ("Service", "Cluster-IP") => |object, _| {
            texts(object, &["spec", "clusterIPs"]).first().copied().unwrap_or(NONE).into()
        },
        ("Service", "External-IP") => external,
        ("Service", "Port(s)") => service_ports,
        ("Service", "Selector") => |object, _| labels(object.at(&["spec", "selector"])).into(),
        ("Endpoints", "Endpoints") => endpoints,
        ("EndpointSlice", "Ports") => slice_ports,
        ("EndpointSlice", "Endpoints") => slice_endpoints,
        ("Ingress", "Hosts") => hosts,
        ("Ingress", "Address") => |object, _| join(&sorted(balancer(object)), "").into(),
        ("Ingress", "Ports") => |object, _| {
            if items(object, &["spec", "tls"]).is_empty() { "80" } else { "80, 443" }.into()
        },
        ("IngressClass", "Parameters") => parameters,
        ("NetworkPolicy", "Pod-Selector") => {
            |object, _| selector(object.at(&["spec", "podSelector"])).into()
        }
        ("IPAddress", "ParentRef") => parent,
        ("ServiceCIDR", "CIDRs") => |object, _| join(&texts(object, &["spec", "cidrs"]), "").into(),
        ("APIService", "Service") => backend,
        ("APIService", "Available") => available,
        _ => return None,
    })
}

fn balancer(object: &Value) -> impl Iterator<Item = &str> {
    items(object, &["status", "loadBalancer", "ingress"]).iter().map(|entry| {
        match text(entry, &["ip"]) {
            "" => text(entry, &["hostname"]),
            ip => ip,
        }
    })
}

fn external(object: &Value, _now_ms: u64) -> Value {
    let own = texts(object, &["spec", "externalIPs"]);
    match text(object, &["spec", "type"]) {
        "LoadBalancer" => join(&[sorted(balancer(object)), own].concat(), "<pending>"),
        "ExternalName" => text(object, &["spec", "externalName"]).to_owned(),
        _ => join(&own, NONE),
    }
    .into()
}

fn service_ports(object: &Value, _now_ms: u64) -> Value {
    let number =
        |port: &Value, field: &str| port.get(field).and_then(Value::as_i64).unwrap_or_default();
    let shown = items(object, &["spec", "ports"]).iter().map(|port| {
        let (own, node, protocol) =
            (number(port, "port"), number(port, "nodePort"), text(port, &["protocol"]));
        if node == 0 { format!("{own}/{protocol}") } else { format!("{own}:{node}/{protocol}") }
    });
    join(&shown.collect::<Vec<_>>(), NONE).into()
}

fn endpoints(object: &Value, _now_ms: u64) -> Value {
    let mut all = Vec::new();
    for subset in items(object, &["subsets"]) {
        let addresses: Vec<&str> =
            items(subset, &["addresses"]).iter().map(|address| text(address, &["ip"])).collect();
        let ports = items(subset, &["ports"]);
        if ports.is_empty() {
            all.extend(addresses.iter().map(|ip| (*ip).to_owned()));
        }
        for port in ports.iter().filter_map(|port| port.get("port").and_then(Value::as_i64)) {
            let with = |ip: &&str| {
                if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
            };
            all.extend(addresses.iter().map(with));
        }
    }
    first_few(&all, all.len(), NONE).into()
}

fn slice_ports(object: &Value, _now_ms: u64) -> Value {
    let shown = items(object, &["ports"]).iter().map(|port| {
        match (port.get("port").and_then(Value::as_i64), text(port, &["name"])) {
            (Some(number), _) => number.to_string(),
            (None, "") => "*".to_owned(),
            (None, name) => name.to_owned(),
        }
    });
    let shown: Vec<String> = shown.collect();
    first_few(&shown, shown.len(), UNSET).into()
}

fn slice_endpoints(object: &Value, _now_ms: u64) -> Value {
    let all: Vec<&str> = items(object, &["endpoints"])
        .iter()
        .flat_map(|endpoint| texts(endpoint, &["addresses"]))
        .collect();
    first_few(&all, all.len(), UNSET).into()
}

fn hosts(object: &Value, _now_ms: u64) -> Value {
    let rules = items(object, &["spec", "rules"]);
    let named: Vec<&str> =
        rules.iter().map(|rule| text(rule, &["host"])).filter(|host| !host.is_empty()).collect();
    first_few(&named, rules.len(), "*").into()
}

fn parameters(object: &Value, _now_ms: u64) -> Value {
    let Some(parameters) = object.at(&["spec", "parameters"]) else {
        return NONE.into();
    };
    let (kind, group, name) =
        (text(parameters, &["kind"]), text(parameters, &["apiGroup"]), text(parameters, &["name"]));
    if group.is_empty() { format!("{kind}/{name}") } else { format!("{kind}.{group}/{name}") }
        .into()
}

fn parent(object: &Value, _now_ms: u64) -> Value {
    let Some(parent) = object.at(&["spec", "parentRef"]) else {
        return NONE.into();
    };
    let (resource, group) = (text(parent, &["resource"]), text(parent, &["group"]));
    let kind = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    let (namespace, name) = (text(parent, &["namespace"]), text(parent, &["name"]));
    let steps = [kind.to_lowercase(), namespace.to_owned(), name.to_owned()];
    steps.into_iter().filter(|step| !step.is_empty()).collect::<Vec<_>>().join("/").into()
}

fn backend(object: &Value, _now_ms: u64) -> Value {
    let Some(service) = object.at(&["spec", "service"]) else {
        return "Local".into();
    };
    format!("{}/{}", text(service, &["namespace"]), text(service, &["name"])).into()
}

fn available(object: &Value, _now_ms: u64) -> Value {
    let Some(condition) = condition(object, "Available") else {
        return "Unknown".into();
    };
    match (text(condition, &["status"]), text(condition, &["reason"])) {
        ("True", _) => "True".into(),
        (status, "") => status.into(),
        (status, reason) => format!("{status} ({reason})").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(kind: &str, column: &str, object: Json, expect: &str) {
        let cell = special(kind, column).expect("a special column")(&object.into(), 0);
        assert_eq!(cell, Value::from(expect), "{kind} {column}");
    }

    #[test]
    fn services() {
        let ports = json!([{"port": 80, "protocol": "TCP"}, {"port": 53, "nodePort": 30_053, "protocol": "UDP"}]);
        check("Service", "Port(s)", json!({"spec": {"ports": ports}}), "80/TCP,53:30053/UDP");
        check("Service", "Port(s)", json!({"spec": {}}), "<none>");
        check(
            "Service",
            "Cluster-IP",
            json!({"spec": {"clusterIPs": ["10.0.0.1", "fd00::1"]}}),
            "10.0.0.1",
        );
        check("Service", "Cluster-IP", json!({"spec": {}}), "<none>");
        check(
            "Service",
            "External-IP",
            json!({"spec": {"type": "ClusterIP", "externalIPs": ["a", "b"]}}),
            "a,b",
        );
        check(
            "Service",
            "External-IP",
            json!({"spec": {"type": "ExternalName", "externalName": "x"}}),
            "x",
        );
        let ingress = json!([{"ip": "192.0.2.2"}, {"hostname": "h"}, {"ip": "192.0.2.1"}]);
        let status = json!({"loadBalancer": {"ingress": ingress}});
        check(
            "Service",
            "External-IP",
            json!({"spec": {"type": "LoadBalancer"}, "status": status}),
            "192.0.2.1,192.0.2.2,h",
        );
        check("Service", "External-IP", json!({"spec": {"type": "LoadBalancer"}}), "<pending>");
    }

    #[test]
    fn endpoints_of_both_kinds() {
        let subset = json!({"addresses": [{"ip": "10.1.1.1"}, {"ip": "10.1.1.2"}], "ports": [{"port": 80}, {"port": 81}]});
        check(
            "Endpoints",
            "Endpoints",
            json!({"subsets": [subset]}),
            "10.1.1.1:80,10.1.1.2:80,10.1.1.1:81 + 1 more...",
        );
        check("Endpoints", "Endpoints", json!({}), "<none>");
        let slice = json!({"endpoints": [{"addresses": ["a"]}, {"addresses": ["b"]}], "ports": [{"port": 80}, {"name": "b"}, {}]});
        check("EndpointSlice", "Endpoints", slice.clone(), "a,b");
        check("EndpointSlice", "Ports", slice, "80,b,*");
        check("EndpointSlice", "Ports", json!({}), "<unset>");
    }

    #[test]
    fn routes() {
        let hosts = |hosts: &[&str]| json!({"spec": {"rules": hosts.iter().map(|host| json!({"host": host})).collect::<Vec<_>>()}});
        check("Ingress", "Hosts", hosts(&["a", "b", "c", "d"]), "a,b,c + 1 more...");
        check("Ingress", "Hosts", hosts(&[""]), "*");
        check("Ingress", "Ports", json!({"spec": {"tls": [{}]}}), "80, 443");
        check("Ingress", "Ports", json!({"spec": {}}), "80");
        let parameters = json!({"apiGroup": "example.com", "kind": "P", "name": "p"});
        check(
            "IngressClass",
            "Parameters",
            json!({"spec": {"parameters": parameters}}),
            "P.example.com/p",
        );
        let parent = json!({"resource": "services", "namespace": "n", "name": "a"});
        check("IPAddress", "ParentRef", json!({"spec": {"parentRef": parent}}), "services/n/a");
        let failing =
            json!({"conditions": [{"type": "Available", "status": "False", "reason": "Gone"}]});
        check("APIService", "Available", json!({"status": failing}), "False (Gone)");
        check("APIService", "Service", json!({"spec": {}}), "Local");
    }
}
