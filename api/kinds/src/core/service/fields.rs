//! Properties of a Service that follow from its type and a few fields.

use quorate_meta::Value;

/// The `clusterIP` of a headless Service.
pub(super) const HEADLESS: &str = "None";

fn text<'v>(service: &'v Value, field: &str) -> &'v str {
    service.str_at(&["spec", field]).unwrap_or_default()
}

/// The type.
pub(super) fn kind(service: &Value) -> &str {
    text(service, "type")
}

/// The primary cluster IP: empty before allocation, `None` for a headless Service.
pub(super) fn address(service: &Value) -> &str {
    text(service, "clusterIP")
}

/// Whether the type has cluster IPs.
pub(super) fn needs_address(service: &Value) -> bool {
    matches!(kind(service), "ClusterIP" | "NodePort" | "LoadBalancer")
}

/// Whether node ports are allocated.
pub(super) fn needs_node_ports(service: &Value) -> bool {
    let wanted = service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool)
        != Some(false);
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => wanted,
        _ => false,
    }
}

/// Whether the type may have node ports.
pub(super) fn may_have_node_ports(service: &Value) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}

/// Whether traffic from outside the cluster can reach the Service.
pub(super) fn is_external(service: &Value) -> bool {
    let addresses = service.at(&["spec", "externalIPs"]).is_some_and(|list| !list.is_empty());
    may_have_node_ports(service) || (kind(service) == "ClusterIP" && addresses)
}

/// Whether the Service needs a health check node port.
pub(super) fn needs_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && text(service, "externalTrafficPolicy") == "Local"
}

/// Whether the Service is headless and has no selector.
pub(super) fn is_headless_without_selector(service: &Value) -> bool {
    let selected = service.at(&["spec", "selector"]).is_some_and(|selector| !selector.is_empty());
    address(service) == HEADLESS && !selected
}
