//! The kinds of the networking group.

mod ingress;
mod ingress_rules;
mod ingressclass;
mod ipaddress;
mod networkpolicy;
mod servicecidr;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Ingress" => Arc::new(ingress::Ingress),
        "IngressClass" => Arc::new(ingressclass::IngressClass),
        "IPAddress" => Arc::new(ipaddress::IpAddress),
        "NetworkPolicy" => Arc::new(networkpolicy::NetworkPolicy),
        "ServiceCIDR" => Arc::new(servicecidr::ServiceCidr),
        _ => return None,
    })
}
