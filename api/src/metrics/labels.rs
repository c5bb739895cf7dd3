//! The labels of a request: verb, scope and the rest, from what the server serves.
//!
//! Invariant: each value is one of a few that are written here, or of a resource that is served; a
//! client chooses among them and adds none.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::Resource;

use crate::health::Endpoint;

/// Subresources that connect the client with a node's agent.
const CONNECTING: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];
/// Pages about the server, by the start of their paths, and how they are named.
const PAGES: [(&str, &str); 9] = [
    ("/.well-known/openid-configuration", "/.well-known/openid-configuration"),
    ("/metrics", "/metrics"),
    ("/openid/v1/jwks", "/openid/v1/jwks"),
    ("/openapi/v2", "/openapi/v2"),
    ("/openapi/v3", "/openapi/v3"),
    ("/version", "/version"),
    ("/apis", "/apis"),
    ("/api", "/api"),
    ("/admission", "/admission"),
];

/// The labels of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestLabels<'r> {
    pub(super) verb: &'static str,
    pub(super) dry_run: &'static str,
    pub(super) group: &'r str,
    pub(super) version: &'r str,
    pub(super) resource: &'r str,
    pub(super) subresource: &'r str,
    pub(super) scope: &'static str,
}

impl<'r> RequestLabels<'r> {
    /// Of a request whose path leads to this resource, or to a page.
    pub(super) fn of(
        info: &'r RequestInfo,
        headers: &HeaderMap,
        served: Option<&'r Resource>,
    ) -> Self {
        let scope = scope(info);
        let verb = verb(info, scope, headers);
        let Some(resource) = served else {
            let page = if info.is_resource { "" } else { page(&info.path) };
            let scope = if info.is_resource { "" } else { scope };
            return Self {
                verb,
                dry_run: "",
                group: "",
                version: "",
                resource: "",
                subresource: page,
                scope,
            };
        };
        let subresource = info.subresource.as_deref().unwrap_or_default();
        let subresource = resource.subresource(subresource).map_or("", |own| own.name.as_str());
        Self {
            verb,
            dry_run: dry_run(info),
            group: &resource.group,
            version: &resource.version,
            resource: &resource.plural,
            subresource,
            scope,
        }
    }
}

/// The name of a page about the server; empty for any other path.
fn page(path: &str) -> &'static str {
    if path == "/" {
        return "/";
    }
    if let Some((endpoint, _)) = Endpoint::find(path) {
        return match endpoint {
            Endpoint::Live => "/livez",
            Endpoint::Ready => "/readyz",
            Endpoint::Health => "/healthz",
        };
    }
    let is_of = |start: &str| {
        path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    PAGES.iter().find(|(start, _)| is_of(start)).map_or("", |(_, name)| name)
}

fn scope(info: &RequestInfo) -> &'static str {
    if info.is_resource && (info.name.is_some() || info.verb == Verb::Create) {
        "resource"
    } else if info.namespace.is_some() {
        "namespace"
    } else if info.is_resource {
        "cluster"
    } else {
        ""
    }
}

fn verb(info: &RequestInfo, scope: &str, headers: &HeaderMap) -> &'static str {
    let connects = |name: &str| CONNECTING.contains(&name);
    if info.is_resource && info.subresource.as_deref().is_some_and(connects) {
        return "CONNECT";
    }
    match info.verb {
        Verb::Watch => "WATCH",
        Verb::Get | Verb::List | Verb::Head if !matches!(scope, "resource" | "") => "LIST",
        Verb::Get | Verb::List => "GET",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch if is_apply(headers) => "APPLY",
        Verb::Patch => "PATCH",
        Verb::Delete | Verb::DeleteCollection => "DELETE",
        Verb::Head | Verb::Options | Verb::Other => "other",
    }
}

fn is_apply(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    content_type.is_some_and(|value| value.starts_with(b"application/apply-patch+"))
}

fn dry_run(info: &RequestInfo) -> &'static str {
    let mut found = "";
    for value in info.query.all("dryRun") {
        if value != "All" {
            return "invalid";
        }
        found = "All";
    }
    found
}

/// Whether a request goes on as long as its client likes.
pub(super) fn is_long_running(info: &RequestInfo) -> bool {
    let connects = |name: &str| CONNECTING.contains(&name);
    info.verb == Verb::Watch || info.subresource.as_deref().is_some_and(connects)
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Method};
    use quorate_meta::Naming;

    use super::*;

    fn info(method: &Method, uri: &str) -> RequestInfo {
        RequestInfo::parse(Naming::Svc.names(), method, &uri.parse().unwrap())
    }

    #[test]
    fn verbs_and_scopes() {
        let check = |method: Method, uri: &str, expect: &str| {
            let (info, headers) = (info(&method, uri), HeaderMap::new());
            let scope = scope(&info);
            assert_eq!(format!("{} {scope}", verb(&info, scope, &headers)), expect, "{uri}");
        };
        check(Method::GET, "/api/v1/namespaces/a/pods/b", "GET resource");
        check(Method::GET, "/api/v1/namespaces/a/pods", "LIST namespace");
        check(Method::GET, "/api/v1/pods", "LIST cluster");
        check(Method::HEAD, "/api/v1/pods", "LIST cluster");
        check(Method::GET, "/api/v1/pods?watch=1", "WATCH cluster");
        check(Method::POST, "/api/v1/namespaces/a/pods", "POST resource");
        check(Method::PUT, "/api/v1/namespaces/a/pods/b/status", "PUT resource");
        check(Method::PATCH, "/api/v1/namespaces/a/pods/b", "PATCH resource");
        check(Method::DELETE, "/api/v1/namespaces/a/pods", "DELETE namespace");
        check(Method::GET, "/api/v1/namespaces/a/pods/b/log", "CONNECT resource");
        check(Method::GET, "/livez", "GET ");
        check(Method::OPTIONS, "/livez", "other ");
        check(Method::from_bytes(b"EVIL").unwrap(), "/api/v1/pods", "other cluster");
    }

    #[test]
    fn an_apply_is_known_by_its_type() {
        let check = |content_type: &'static str, expect: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            let info = info(&Method::PATCH, "/api/v1/namespaces/a/pods/b");
            assert_eq!(verb(&info, "resource", &headers), expect, "{content_type}");
        };
        check("application/apply-patch+yaml", "APPLY");
        check("application/apply-patch+cbor", "APPLY");
        check("application/json-patch+json", "PATCH");
    }

    #[test]
    fn dry_runs_and_pages() {
        let check = |query: &str, expect: &str| {
            let info = info(&Method::POST, &format!("/api/v1/namespaces/a/pods?{query}"));
            assert_eq!(dry_run(&info), expect, "{query}");
        };
        check("", "");
        check("dryRun=All&dryRun=All", "All");
        check("dryRun=All&dryRun=x", "invalid");
        check("dryRun=", "invalid");
        let check = |path: &str, expect: &str| assert_eq!(page(path), expect, "{path}");
        check("/", "/");
        check("/livez/ping", "/livez");
        check("/metrics", "/metrics");
        check("/openapi/v3/apis/apps/v1", "/openapi/v3");
        check("/apis", "/apis");
        check("/apisx", "");
        check("/no/such/path", "");
    }
}
