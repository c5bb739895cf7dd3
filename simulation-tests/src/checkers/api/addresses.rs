//! Addresses and node ports of Services: no two have the same at any revision, and none loses its
//! own while it lives.

use std::collections::BTreeMap;

use serde_json::Value;

use super::object_history::{ObjectHistory, text};
use crate::api::ResourceKind;

/// The address of a headless Service.
const NONE: &str = "None";

/// Everything that is wrong with what Services hold.
pub(super) fn check(past: &ObjectHistory) -> Vec<String> {
    let services = ResourceKind::Services.key("", "");
    let mut holders: BTreeMap<String, &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for change in past.changes.iter().filter(|change| change.key.starts_with(&services)) {
        let mut wrong = |what: String| {
            violations.push(format!("addresses: {} at {}: {what}", change.key, change.revision))
        };
        let (before, now) = (change.before.as_deref(), change.now.as_deref());
        for held in before.into_iter().flat_map(held) {
            holders.remove(&held);
        }
        let Some(now) = now else { continue };
        for held in held(now) {
            if let Some(other) = holders.insert(held.clone(), &change.key) {
                wrong(format!("it gets {held}, which {other} has"));
            }
        }
        let address =
            |object: &Value| object["spec"]["clusterIP"].as_str().unwrap_or_default().to_owned();
        match before.filter(|before| text(before, "uid") == text(now, "uid")) {
            Some(before) if address(before) != address(now) => {
                wrong(format!("its address goes from {} to {}", address(before), address(now)));
            }
            None if address(now).is_empty() => wrong("it has no address".to_owned()),
            _ => {}
        }
    }
    violations
}

/// What a Service has for itself alone.
fn held(service: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let addresses = list(&service["spec"]["clusterIPs"]);
    let addresses = addresses.iter().filter_map(Value::as_str).filter(|address| *address != NONE);
    let ports = list(&service["spec"]["ports"]);
    let ports = ports.iter().filter_map(|port| port["nodePort"].as_u64()).filter(|port| *port > 0);
    addresses
        .map(|address| format!("address {address}"))
        .chain(ports.map(|port| format!("node port {port}")))
        .collect()
}
