//! The kinds of the API group `networking`.
//!
//! Traffic is controlled by network plugins and ingress controllers, addresses are allocated with
//! Services.

mod ingress;
mod ingress_class;
mod ingress_rules;
mod ip_address;
mod network_policy;
mod service_cidr;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Ingress" => Arc::new(ingress::Ingress),
        "IngressClass" => Arc::new(ingress_class::IngressClass),
        "IPAddress" => Arc::new(ip_address::IpAddress),
        "NetworkPolicy" => Arc::new(network_policy::NetworkPolicy),
        "ServiceCIDR" => Arc::new(service_cidr::ServiceCidr),
        _ => return None,
    })
}
