//! What the type of a Service and a few of its fields make of it.

use quorate_meta::Value;

/// The address of a service that has none.
pub(super) const HEADLESS: &str = "None";

fn text<'v>(service: &'v Value, field: &str) -> &'v str {
    service.str_at(&["spec", field]).unwrap_or_default()
}

/// Its type.
pub(super) fn kind(service: &Value) -> &str {
    text(service, "type")
}

/// Its address: empty when it has none yet, `None` when it shall not have one.
pub(super) fn address(service: &Value) -> &str {
    text(service, "clusterIP")
}

/// Whether it may have addresses within the cluster.
pub(super) fn needs_address(service: &Value) -> bool {
    matches!(kind(service), "ClusterIP" | "NodePort" | "LoadBalancer")
}

/// Whether its ports are open on every node.
pub(super) fn needs_node_ports(service: &Value) -> bool {
    let wanted = service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool) != Some(false);
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => wanted,
        _ => false,
    }
}

/// Whether its ports may be open on nodes.
pub(super) fn may_have_node_ports(service: &Value) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}

/// Whether traffic from outside reaches it.
pub(super) fn is_external(service: &Value) -> bool {
    let addresses = service.at(&["spec", "externalIPs"]).is_some_and(|list| !list.is_empty());
    may_have_node_ports(service) || (kind(service) == "ClusterIP" && addresses)
}

/// Whether nodes tell on a port of their own whether they have endpoints of it.
pub(super) fn needs_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && text(service, "externalTrafficPolicy") == "Local"
}

/// Whether it is a name for endpoints that somebody else keeps.
pub(super) fn is_bare(service: &Value) -> bool {
    let selected = service.at(&["spec", "selector"]).is_some_and(|selector| !selector.is_empty());
    address(service) == HEADLESS && !selected
}
