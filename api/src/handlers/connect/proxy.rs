//! The `proxy` subresource of pods, Services and nodes: a request that is passed on to the server
//! behind one, and its answer.
//!
//! Invariants: the other server gets nothing of what the client has authenticated itself with, and
//! no header that is about one connection. A request is sent once; what its connection needs for
//! another protocol is refused.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HOST, HeaderName, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use quorate_meta::Status;
use tokio::time::timeout;

use super::endpoint::{self, ProxyTarget, Transport};
use super::options::Form;
use super::{admit, chunks};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::kubelet::CONNECT_TIMEOUT;
use quorate_access::request::Verb;
use quorate_registry::error::Error;
use quorate_trace::{TRACEPARENT, TRACESTATE, current};

/// Headers about one connection (RFC 9110, section 7.6.1), and the credentials of the client.
const NOT_PASSED: [HeaderName; 10] = [
    header::AUTHORIZATION,
    header::CONNECTION,
    HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];
/// How the headers begin that say for whom a client acts.
const IMPERSONATION: &str = "impersonate-";

/// Passes the request on.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let path = path_below(&request.info.path, request.namespace().is_some());
    let told = Some(path.clone().unwrap_or_default());
    admit(api, request, &[("path", Form::Text)], told).await?;
    let endpoint = endpoint::find(api, request).await?;
    if request.headers.contains_key(header::UPGRADE) {
        let why = "this server hands no connection over to another one";
        return Err(Status::service_unavailable(why).into());
    }
    let query = request.record.uri().query();
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    let Some(path) = path else {
        return if request.info.verb == Verb::Get {
            directory(&format!("{}/{query}", request.info.path))
        } else {
            passed_on(api, request, &endpoint, &format!("/{query}")).await
        };
    };
    passed_on(api, request, &endpoint, &format!("{path}{query}")).await
}

/// What the path has below the subresource; `None` if that is not even a slash.
fn path_below(path: &str, is_namespaced: bool) -> Option<String> {
    // `/api/v1/namespaces/N/pods/P/proxy/REST`, or without the namespace.
    let segments = if is_namespaced { 8 } else { 6 };
    let below = path.splitn(segments + 1, '/').nth(segments)?;
    Some(format!("/{below}"))
}

/// Relative links of a page need a path that ends with a slash.
fn directory(path: &str) -> Result<Response<Body>, Error> {
    let mut moved = Response::new(Body::empty());
    *moved.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let place = HeaderValue::from_str(path).map_err(|_| Error::bad_request("invalid path"))?;
    moved.headers_mut().insert(LOCATION, place);
    Ok(moved)
}

async fn passed_on(
    api: &Api,
    request: &Request<'_>,
    endpoint: &ProxyTarget,
    target: &str,
) -> Result<Response<Body>, Error> {
    let failed = |why: &dyn Display| {
        Error::from(Status::service_unavailable(format!("error trying to reach service: {why}")))
    };
    let outgoing = HttpRequest::builder().method(method(request.info.verb)).uri(target);
    let mut outgoing = outgoing
        .body(Full::new(request.body.clone()))
        .map_err(|error| Error::bad_request(error.to_string()))?;
    *outgoing.headers_mut() = passed_headers(request.headers);
    let host = HeaderValue::from_str(&endpoint.address);
    outgoing.headers_mut().insert(HOST, host.map_err(|error| failed(&error))?);
    put_trace(outgoing.headers_mut());
    let answer = send(api, endpoint, outgoing).await.map_err(|why| failed(&why))?;
    let (parts, body) = answer.into_parts();
    let mut answer = Response::new(Body::stream(chunks(body)));
    *answer.status_mut() = parts.status;
    *answer.headers_mut() = passed_headers(&parts.headers);
    Ok(answer)
}

/// Puts the trace context of this server in the place of the client's own, where it traces requests.
fn put_trace(headers: &mut HeaderMap) {
    let span = current();
    let Some(context) = span.context() else { return };
    headers.remove(TRACESTATE);
    let state = span.state().map(|state| state.header().to_owned());
    for (name, value) in [(TRACEPARENT, Some(context.header())), (TRACESTATE, state)] {
        if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
            headers.insert(name, value);
        }
    }
}

async fn send(
    api: &Api,
    endpoint: &ProxyTarget,
    request: HttpRequest<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let (network, address) = (&*api.env.network, &*endpoint.address);
    if endpoint.transport != Transport::Plain {
        let is_checked = endpoint.transport == Transport::Kubelet;
        let mut connection = api.kubelets.connect(network, address, is_checked).await?;
        return connection.send(request).await.map_err(|error| error.to_string());
    }
    let connected = timeout(CONNECT_TIMEOUT, network.connect(address)).await;
    let connected = connected.map_err(|_| format!("dial tcp {address}: i/o timeout"))?;
    let tcp = connected.map_err(|error| format!("dial tcp {address}: connect: {error}"))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(tcp)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|error| error.to_string())
}

fn method(verb: Verb) -> Method {
    match verb {
        Verb::Create => Method::POST,
        Verb::Update => Method::PUT,
        Verb::Patch => Method::PATCH,
        Verb::Delete => Method::DELETE,
        _ => Method::GET,
    }
}

/// The headers that the other side gets.
fn passed_headers(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let passes = |name: &HeaderName| {
        !NOT_PASSED.contains(name)
            && !name.as_str().starts_with(IMPERSONATION)
            && !named.iter().any(|other| other == name.as_str())
    };
    let passed = headers.iter().filter(|(name, _)| passes(name));
    passed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_subresource() {
        let check = |path: &str, is_namespaced: bool, expect: Option<&str>| {
            assert_eq!(path_below(path, is_namespaced).as_deref(), expect, "{path}");
        };
        check("/api/v1/namespaces/a/pods/p/proxy", true, None);
        check("/api/v1/namespaces/a/pods/p/proxy/", true, Some("/"));
        check("/api/v1/namespaces/a/services/s:80/proxy/x%2Fy/z/", true, Some("/x%2Fy/z/"));
        check("/api/v1/nodes/n/proxy/stats/summary", false, Some("/stats/summary"));
    }

    #[test]
    fn credentials_and_connections_stay_here() {
        let headers = [
            ("authorization", "Bearer x"),
            ("impersonate-user", "u"),
            ("connection", "close, X-Once"),
            ("x-once", "1"),
            ("host", "h"),
            ("accept", "*/*"),
            ("x-mine", "2"),
        ];
        let headers = headers
            .into_iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let passed = passed_headers(&headers.collect());
        let mut names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "x-mine"]);
    }
}
