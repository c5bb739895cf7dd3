//! LoadBalancerStatus: the addresses and host names in the status of Services and Ingresses.

use quorate_meta::{Cause, name};

use super::field::Field;
use super::rules;
use quorate_meta::net;

/// Checks `ingress[]` of a status: IP addresses and DNS names are valid, and a host name is no IP
/// address.
pub(super) fn check_addresses(load_balancer: &Field<'_>, causes: &mut Vec<Cause>) {
    for entry in load_balancer.get("ingress").items() {
        let (ip, host) = (entry.get("ip"), entry.get("hostname"));
        if !ip.is_empty() {
            rules::address(&ip, causes);
        }
        if !host.is_empty() {
            causes.extend(host.invalid_for(&name::dns_subdomain(host.text())));
            if net::address(host.text()).is_some() {
                causes.push(host.invalid("must be a DNS name, not an IP address"));
            }
        }
    }
}
