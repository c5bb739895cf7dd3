//! The place of a kubelet: an address of its node, and its port.

use quorate_meta::Value;

use super::KubeletClient;

/// Where kubelets listen that say no port.
const PORT: i64 = 10_250;

impl KubeletClient {
    /// The host and the port of a node's kubelet; `Err` is why there is none.
    pub(crate) fn locate(&self, node: &Value) -> Result<(String, i64), String> {
        let addresses =
            node.at(&["status", "addresses"]).and_then(Value::as_list).unwrap_or_default();
        let field =
            |address: &Value, field: &str| address.str_at(&[field]).unwrap_or_default().to_owned();
        let of_type =
            |wanted: &String| addresses.iter().find(|address| field(address, "type") == *wanted);
        let Some(host) = self.address_types.iter().find_map(of_type) else {
            let known: Vec<String> = addresses
                .iter()
                .map(|address| {
                    format!("{{{} {}}}", field(address, "type"), field(address, "address"))
                })
                .collect();
            return Err(format!(
                "no preferred addresses found; known addresses: [{}]",
                known.join(" ")
            ));
        };
        let port = node.at(&["status", "daemonEndpoints", "kubeletEndpoint", "Port"]);
        let port = port.and_then(Value::as_i64).filter(|port| *port > 0).unwrap_or(PORT);
        Ok((field(host, "address"), port))
    }
}

/// `HOST:PORT`, an IPv6 address in brackets.
pub(crate) fn joined(host: &str, port: impl std::fmt::Display) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quorate_env::SystemEnv;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::kubelet::KubeletOptions;

    #[test]
    fn a_kubelet_is_at_an_address_of_its_node() {
        let check = |types: &[&str], status: Json, expect: Result<&str, &str>| {
            let address_types = types.iter().map(|ty| (*ty).to_owned()).collect();
            let options = KubeletOptions { address_types, ..KubeletOptions::default() };
            let client = KubeletClient::new(options, Arc::clone(&SystemEnv::env().clock)).unwrap();
            let found = client.locate(&json!({ "status": status }).into());
            let found = found.map(|(host, port)| joined(&host, port));
            assert_eq!(found, expect.map(str::to_owned).map_err(str::to_owned));
        };
        let two = json!([{"type": "InternalIP", "address": "fd00::1"}, {"type": "Hostname", "address": "n"}]);
        let status = json!({"addresses": two});
        check(&["Hostname", "InternalIP"], status.clone(), Ok("n:10250"));
        check(&["InternalIP", "Hostname"], status.clone(), Ok("[fd00::1]:10250"));
        let port = json!({"addresses": two, "daemonEndpoints": {"kubeletEndpoint": {"Port": 443}}});
        check(&["ExternalIP", "Hostname"], port, Ok("n:443"));
        let none = "no preferred addresses found; known addresses: ";
        check(
            &["ExternalIP"],
            status,
            Err(&format!("{none}[{{InternalIP fd00::1}} {{Hostname n}}]")),
        );
        check(&["ExternalIP"], json!({}), Err(&format!("{none}[]")));
    }
}
