//! Where a proxied request goes: the server behind the name of a pod, a Service or a node.
//!
//! Invariants: a pod is only reached at an address that another host can have, so that no request
//! comes back to this host; an endpoint of a Service is only reached while a pod of the Service's
//! namespace has its address.

use quorate_meta::{Status, Value, net};
use quorate_registry::error::Error;

use super::{NODES, PODS, kubelet, object};
use crate::Api;
use crate::handlers::Request;
use crate::kubelet::joined;

/// A server, and how it is spoken to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyTarget {
    /// `HOST:PORT`.
    pub(super) address: String,
    pub(super) transport: Transport,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// HTTP without TLS.
    Plain,
    /// TLS, whatever the certificate.
    Tls,
    /// TLS as to a kubelet.
    Kubelet,
}

/// A name of the form `[SCHEME:]NAME[:PORT]`.
#[derive(Debug, PartialEq, Eq)]
struct Id<'a> {
    transport: Transport,
    name: &'a str,
    port: &'a str,
}

impl<'a> Id<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return None,
        };
        let transport = match scheme {
            "" | "http" => Transport::Plain,
            "https" => Transport::Tls,
            _ => return None,
        };
        (!name.is_empty()).then_some(Self { transport, name, port })
    }
}

/// The server that a request is for.
pub(super) async fn find(api: &Api, request: &Request<'_>) -> Result<ProxyTarget, Error> {
    let (resource, text) = (request.resource()?, request.name()?);
    let id = Id::parse(text).ok_or_else(|| {
        Error::bad_request(format!("invalid {} request {text:?}", resource.singular))
    })?;
    match resource.plural.as_str() {
        PODS => of_pod(api, request, id).await,
        NODES => of_node(api, request, id).await,
        _ => of_service(api, request, id, text).await,
    }
}

async fn of_pod(api: &Api, request: &Request<'_>, id: Id<'_>) -> Result<ProxyTarget, Error> {
    let pod = object(api, request, PODS, request.namespace(), id.name).await?;
    let ip = pod.str_at(&["status", "podIP"]).unwrap_or_default();
    if !is_reached(ip) {
        return Err(Error::bad_request("address not allowed"));
    }
    let port = match id.port {
        "" => first_port(&pod).map_or_else(|| default_port(id.transport), |port| port.to_string()),
        port => port.to_owned(),
    };
    Ok(ProxyTarget { address: joined(ip, port), transport: id.transport })
}

async fn of_node(api: &Api, request: &Request<'_>, id: Id<'_>) -> Result<ProxyTarget, Error> {
    let (host, port) = kubelet(api, request, id.name).await?;
    if id.port.is_empty() || id.port == port.to_string() {
        return Ok(ProxyTarget { address: joined(&host, port), transport: Transport::Kubelet });
    }
    if net::address(&host).is_some() && !is_reached(&host) {
        return Err(Error::bad_request("address not allowed"));
    }
    Ok(ProxyTarget { address: joined(&host, id.port), transport: id.transport })
}

async fn of_service(
    api: &Api,
    request: &Request<'_>,
    id: Id<'_>,
    text: &str,
) -> Result<ProxyTarget, Error> {
    let (namespace, name) = (request.namespace(), id.name);
    let mut port = id.port.to_owned();
    if let Ok(number) = port.parse::<i64>() {
        let service = object(api, request, "services", namespace, name).await?;
        port = name_of_port(&service, number).ok_or_else(|| {
            unavailable(format!("no service port {number} found for service {name:?}"))
        })?;
    }
    let endpoints = object(api, request, "endpoints", namespace, name).await?;
    let subsets = list(&endpoints, "subsets");
    if subsets.is_empty() {
        return Err(unavailable(format!("no endpoints available for service {name:?}")));
    }
    for subset in subsets {
        let Some(number) = list(subset, "ports").iter().find_map(|one| {
            (one.str_at(&["name"]).unwrap_or_default() == port)
                .then(|| one.get("port")?.as_i64())?
        }) else {
            continue;
        };
        for address in list(subset, "addresses") {
            if let Some(ip) = proven(api, request, address).await? {
                return Ok(ProxyTarget { address: joined(&ip, number), transport: id.transport });
            }
        }
    }
    Err(unavailable(format!("no endpoints available for service {text:?}")))
}

/// The address of an endpoint, if a pod of the same namespace has it.
async fn proven(
    api: &Api,
    request: &Request<'_>,
    address: &Value,
) -> Result<Option<String>, Error> {
    let field = |path: &[&str]| address.str_at(path).unwrap_or_default();
    let (ip, pod) = (field(&["ip"]), field(&["targetRef", "name"]));
    let namespace = request.namespace();
    if pod.is_empty() || Some(field(&["targetRef", "namespace"])) != namespace {
        return Ok(None);
    }
    let pod = match object(api, request, PODS, namespace, pod).await {
        Ok(pod) => pod,
        Err(Error::Store(error)) => return Err(Error::Store(error)),
        Err(_) => return Ok(None),
    };
    let ips = pod.at(&["status", "podIPs"]).and_then(Value::as_list).unwrap_or_default();
    let is_own = ips.iter().any(|own| own.str_at(&["ip"]) == Some(ip));
    Ok((is_own && is_reached(ip)).then(|| ip.to_owned()))
}

/// Whether an address can be that of another host.
fn is_reached(ip: &str) -> bool {
    net::address(ip).is_some_and(|ip| {
        let is_local = match ip {
            std::net::IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
            std::net::IpAddr::V6(ip) => ip.is_unicast_link_local(),
        };
        !(ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_local)
    })
}

fn list<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object.get(field).and_then(Value::as_list).unwrap_or_default()
}

/// The first port that a container of the pod names.
fn first_port(pod: &Value) -> Option<i64> {
    let containers = pod.at(&["spec", "containers"]).and_then(Value::as_list)?;
    containers
        .iter()
        .find_map(|container| list(container, "ports").first()?.get("containerPort")?.as_i64())
}

/// The name of a port of a Service, empty for one without.
fn name_of_port(service: &Value, number: i64) -> Option<String> {
    let ports = service.at(&["spec", "ports"]).and_then(Value::as_list)?;
    let port =
        ports.iter().find(|port| port.get("port").and_then(Value::as_i64) == Some(number))?;
    Some(port.str_at(&["name"]).unwrap_or_default().to_owned())
}

fn default_port(transport: Transport) -> String {
    if transport == Transport::Plain { "80" } else { "443" }.to_owned()
}

fn unavailable(why: String) -> Error {
    Status::service_unavailable(why).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_schemes_and_ports() {
        let check = |text: &str, expect: Option<(Transport, &str, &str)>| {
            let expect = expect.map(|(transport, name, port)| Id { transport, name, port });
            assert_eq!(Id::parse(text), expect, "{text}");
        };
        check("p", Some((Transport::Plain, "p", "")));
        check("p:80", Some((Transport::Plain, "p", "80")));
        check("https:p:", Some((Transport::Tls, "p", "")));
        check("http:p:web", Some((Transport::Plain, "p", "web")));
        for bad in ["", ":80", "ftp:p:21", "http::80", "a:b:c:d"] {
            check(bad, None);
        }
    }

    #[test]
    fn addresses_of_this_host_are_not_reached() {
        for (ip, expect) in [
            ("10.0.0.1", true),
            ("fd00::1", true),
            ("", false),
            ("127.0.0.1", false),
            ("::1", false),
            ("169.254.169.254", false),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("fe80::1", false),
        ] {
            assert_eq!(is_reached(ip), expect, "{ip}");
        }
    }
}
