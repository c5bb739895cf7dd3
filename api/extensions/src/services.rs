//! Where the servers of Services are: how the server itself reaches a webhook in the cluster.
//!
//! Invariant: read from what this node has applied; nothing is remembered.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use quorate_meta::Value;
use quorate_registry::{Catalogue, Resource, stored_codec};
use quorate_store::Store;
use quorate_webhook::ServiceResolver;

/// Resolves Services to their cluster IPs.
pub struct ServiceAddresses {
    store: Arc<dyn Store>,
    services: Option<Arc<Resource>>,
}

impl ServiceAddresses {
    /// A resolver of the Services of this catalogue; without such it knows none.
    #[must_use]
    pub fn new(catalogue: &Catalogue, store: Arc<dyn Store>) -> Self {
        Self { store, services: catalogue.find_builtin("", "v1", "services").cloned() }
    }
}

#[async_trait]
impl ServiceResolver for ServiceAddresses {
    async fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<String, String> {
        let missing = || format!("service {name:?} not found");
        let services = self.services.as_ref().ok_or_else(missing)?;
        let snapshot = self.store.snapshot();
        let entry = snapshot.get(&services.key(Some(namespace), name)).ok_or_else(missing)?;
        let service = stored_codec::decode(services, entry).map_err(|error| error.to_string())?;
        address(name, &service, port)
    }
}

/// `host:port` for a port of a Service.
fn address(name: &str, service: &Value, port: u16) -> Result<String, String> {
    let text = |field: &str| service.str_at(&["spec", field]).unwrap_or_default();
    let cluster_ip = text("clusterIP");
    match text("type") {
        "ExternalName" => return Ok(joined(text("externalName"), port)),
        "ClusterIP" if cluster_ip == "None" => {
            return Err("cannot route to service with ClusterIP \"None\"".to_owned());
        }
        "ClusterIP" | "NodePort" | "LoadBalancer" => {}
        other => return Err(format!("unsupported service type {other:?}")),
    }
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
    let has = |one: &Value| one.get("port").and_then(Value::as_u64) == Some(u64::from(port));
    if !ports.iter().any(has) {
        return Err(format!("no service port {port} found for service {name:?}"));
    }
    Ok(joined(cluster_ip, port))
}

fn joined(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

impl fmt::Debug for ServiceAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAddresses").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses() {
        let check = |spec: serde_json::Value, expect: Result<&str, &str>| {
            let service = Value::from(json!({"spec": spec}));
            let got = address("s", &service, 443);
            assert_eq!(got.as_deref().map_err(String::as_str), expect, "{spec}");
        };
        let ports = json!([{"port": 80}, {"port": 443}]);
        let of = |ty: &str, ip: &str| json!({"type": ty, "clusterIP": ip, "ports": ports});
        check(of("ClusterIP", "10.0.0.1"), Ok("10.0.0.1:443"));
        check(of("LoadBalancer", "fd00::1"), Ok("[fd00::1]:443"));
        check(of("ClusterIP", "None"), Err("cannot route to service with ClusterIP \"None\""));
        check(json!({"type": "ExternalName", "externalName": "a.example"}), Ok("a.example:443"));
        check(
            json!({"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80}]}),
            Err("no service port 443 found for service \"s\""),
        );
        check(json!({"type": "Other"}), Err("unsupported service type \"Other\""));
    }
}
