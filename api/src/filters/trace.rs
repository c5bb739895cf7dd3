//! The trace filter: the span of the request, and when the trace is told.
//!
//! A request that was sampled is told with the spans that were recorded. Any other is told only when
//! it was slow or has failed by the server's fault: with the parts that its record has measured. Of a
//! watch the span ends when the watch has begun.
//!
//! Invariants: a request that is not told has cost no allocation; a client is believed that its trace
//! is recorded only once its user is known; no query, no header but `User-Agent`, no body and no message
//! of a failure is told.

use std::borrow::Cow;

use http::header::{HeaderName, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Response, StatusCode};
use quorate_access::request::{RequestInfo, Verb};
use quorate_meta::well_known::USER_ANONYMOUS;
use quorate_trace::{
    AttributeValue, CurrentSpan, ParentSpan, Sampling, SpanKind, SpanRecord, TRACEPARENT,
    TRACESTATE, Trace, TraceContext, TraceState, Tracer,
};
use tokio::time::Instant;

use super::Exchange;
use crate::body::Body;
use crate::health::Endpoint;
use crate::metrics::is_long_running;
use crate::request_record::{Milestone, RequestRecord};

/// The header of a trace context.
const HEADER: HeaderName = HeaderName::from_static(TRACEPARENT);
/// The header of what tracing systems keep with a trace.
const STATE: HeaderName = HeaderName::from_static(TRACESTATE);
/// What a request without a recorded trace has measured of itself: each part ends at its milestone.
/// Their names are those of the spans of the chain.
const PARTS: [(&str, Milestone); 5] = [
    ("authentication", Milestone::Authenticated),
    ("authorization", Milestone::Authorized),
    ("flow_control", Milestone::Admitted),
    ("request_body", Milestone::BodyRead),
    ("handler", Milestone::Handled),
];

/// Begins the trace of a request, where traces are kept.
pub(super) fn begin<'t>(tracer: Option<&'t Tracer>, headers: &HeaderMap) -> Option<Trace<'t>> {
    Some(tracer?.begin(parent(headers)))
}

/// The span of the client; `None` where there is not exactly one that is valid. Its state counts with it
/// only.
fn parent(headers: &HeaderMap) -> Option<ParentSpan> {
    let mut values = headers.get_all(HEADER).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let context = TraceContext::parse(first.as_bytes())?;
    let state = TraceState::parse(headers.get_all(STATE).iter().map(HeaderValue::as_bytes));
    Some(ParentSpan { context, state })
}

/// The span that the filters and the handler run in.
pub(super) fn span(x: &Exchange<'_>) -> CurrentSpan {
    x.trace.as_ref().map(|trace| trace.span().clone()).unwrap_or_default()
}

/// The response is there.
pub(super) fn response_complete(x: &mut Exchange<'_>, response: Response<Body>) -> Response<Body> {
    let Some(mut trace) = x.trace.take() else { return response };
    let status = response.status();
    if trace.sampling() == Sampling::ByParent && has_no_user(&x.record) {
        trace.distrust();
    }
    let is_sampled = trace.sampling() != Sampling::No;
    if !is_sampled && !is_remarkable(&x.record, &trace, status) {
        return response;
    }
    // What is made while the client reads goes on after the request.
    let is_streamed = x.record.response_bytes().is_none() && !is_long_running(x.record.info());
    let sending = (is_sampled && is_streamed).then(|| trace.late("send"));
    let begin = x.record.received();
    let mut root = trace.part("", begin, Instant::now());
    describe(&mut root, x, Some(status));
    let parts = parts(&x.record, &trace);
    trace.finish(root, parts);
    match sending {
        Some(sending) => response.map(|body| body.holding(sending)),
        None => response,
    }
}

/// The client has left before there was a response: a sampled request is told all the same.
pub(super) fn client_left(x: &mut Exchange<'_>) {
    let Some(mut trace) = x.trace.take() else { return };
    if has_no_user(&x.record) {
        trace.distrust();
    }
    if trace.sampling() == Sampling::No {
        return;
    }
    let mut root = trace.part("", x.record.received(), Instant::now());
    describe(&mut root, x, None);
    root.error = Some("the client has left".to_owned());
    trace.finish(root, Vec::new());
}

/// Whether it is not known who has sent the request.
fn has_no_user(record: &RequestRecord<'_>) -> bool {
    record.user().is_none_or(|user| user.name == USER_ANONYMOUS)
}

/// Whether a request that was not sampled is told: it was slow, or has failed by the server's fault.
/// Health checks fail as long as the server is not healthy.
fn is_remarkable(record: &RequestRecord<'_>, trace: &Trace<'_>, status: StatusCode) -> bool {
    let took = record.time_to(Milestone::Handled).unwrap_or_else(|| record.age());
    let is_slow = took >= trace.slow() && !is_long_running(record.info());
    let fails = status.is_server_error() && Endpoint::find(&record.info().path).is_none();
    is_slow || fails
}

/// What the record has measured.
fn parts(record: &RequestRecord<'_>, trace: &Trace<'_>) -> Vec<SpanRecord> {
    let mut begin = record.received();
    let mut parts = Vec::with_capacity(PARTS.len());
    for (name, milestone) in PARTS {
        if let Some(time) = record.time_to(milestone) {
            let end = record.received() + time;
            parts.push(trace.part(name, begin, end));
            begin = end;
        }
    }
    parts
}

/// Names the span of the request, by the conventions of OpenTelemetry for HTTP.
fn describe(root: &mut SpanRecord, x: &Exchange<'_>, status: Option<StatusCode>) {
    let (record, info) = (&x.record, x.record.info());
    let (route, method) = (route(info), known_method(x.method));
    let name = if method == OTHER_METHOD { "HTTP" } else { method };
    root.name = match &route {
        Some(route) => Cow::Owned(format!("{name} {route}")),
        None => Cow::Borrowed(name),
    };
    root.kind = SpanKind::Server;
    let mut add = |key, value: AttributeValue| root.attributes.push((key, value));
    add("http.request.method", method.into());
    add("url.scheme", "https".into());
    add("url.path", told_path(info, route.as_deref()).into());
    if let Some(route) = &route {
        add("http.route", route.as_str().into());
    }
    if let Some(agent) = x.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()) {
        add("user_agent.original", agent.into());
    }
    if let Ok(id) = record.id().to_str() {
        add("quorate.audit_id", id.into());
    }
    add("quorate.verb", info.verb.name().into());
    if !record.queue_time().is_zero() {
        add("quorate.queue_time", AttributeValue::Seconds(record.queue_time().as_secs_f64()));
    }
    if !record.webhook_time().is_zero() {
        add("quorate.webhook_time", AttributeValue::Seconds(record.webhook_time().as_secs_f64()));
    }
    let Some(status) = status else { return };
    add("http.response.status_code", status.as_u16().into());
    if status.is_server_error() {
        add("error.type", status.as_str().into());
        root.error = Some(status.canonical_reason().unwrap_or_default().to_owned());
    }
}

/// The path; of one that goes on at another server not that part.
fn told_path<'p>(info: &'p RequestInfo, route: Option<&'p str>) -> &'p str {
    let connects = is_long_running(info) && info.verb != Verb::Watch;
    route.filter(|_| connects).unwrap_or(&info.path)
}

/// How a method is called that HTTP does not know.
const OTHER_METHOD: &str = "_OTHER";

fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER_METHOD,
    }
}

/// The path of a resource with the names of objects left out.
fn route(info: &RequestInfo) -> Option<String> {
    if !info.is_resource {
        return None;
    }
    let root = if info.group.is_empty() { "/api" } else { "/apis" };
    let namespace = info.namespace.as_ref().map_or("", |_| "/namespaces/{namespace}");
    let name = info.name.as_ref().map_or("", |_| "/{name}");
    let (slash, subresource) =
        info.subresource.as_deref().map_or(("", ""), |subresource| ("/", subresource));
    let RequestInfo { api_version, resource, .. } = info;
    Some(format!("{root}/{api_version}{namespace}/{resource}{name}{slash}{subresource}"))
}

#[cfg(test)]
mod tests {
    use http::Uri;
    use quorate_meta::Naming;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn one_valid_parent_counts() {
        let check = |values: &[&'static str], expect: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HEADER, HeaderValue::from_static(value));
            }
            assert_eq!(parent(&headers).is_some(), expect, "{values:?}");
        };
        check(&[], false);
        check(&[PARENT], true);
        check(&["00-nothing"], false);
        check(&[PARENT, PARENT], false);
    }

    #[test]
    fn the_state_counts_with_its_parent() {
        let check = |parents: &[&'static str], states: &[&'static str], expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, values) in [(HEADER, parents), (STATE, states)] {
                for value in values {
                    headers.append(name.clone(), HeaderValue::from_static(value));
                }
            }
            let found = parent(&headers).and_then(|parent| parent.state);
            assert_eq!(found.as_ref().map(TraceState::header), expect, "{parents:?} {states:?}");
        };
        check(&[PARENT], &[], None);
        check(&[PARENT], &["a=1", "b=2"], Some("a=1,b=2"));
        check(&[PARENT], &["a=1", "b"], None);
        check(&[], &["a=1"], None);
        check(&["00-nothing"], &["a=1"], None);
        check(&[PARENT, PARENT], &["a=1"], None);
    }

    #[test]
    fn the_path_at_another_server_is_not_told() {
        let check = |path: &'static str, expect: &str| {
            let uri = Uri::from_static(path);
            let info = RequestInfo::parse(Naming::Kubernetes.names(), &Method::GET, &uri);
            assert_eq!(told_path(&info, route(&info).as_deref()), expect);
        };
        check("/api/v1/nodes/a?x=y", "/api/v1/nodes/a");
        check("/api/v1/namespaces/n/pods?watch=1", "/api/v1/namespaces/n/pods");
        check("/api/v1/nodes/a/proxy/reset/secret", "/api/v1/nodes/{name}/proxy");
        check("/livez", "/livez");
    }

    #[test]
    fn routes_name_no_object() {
        let check = |path: &'static str, expect: Option<&str>| {
            let uri = Uri::from_static(path);
            let info = RequestInfo::parse(Naming::Kubernetes.names(), &Method::GET, &uri);
            assert_eq!(route(&info).as_deref(), expect, "{path}");
        };
        check("/livez", None);
        check("/api/v1/nodes", Some("/api/v1/nodes"));
        check("/api/v1/nodes/a?x=y", Some("/api/v1/nodes/{name}"));
        check(
            "/apis/apps/v1/namespaces/n/deployments/d/status",
            Some("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status"),
        );
    }
}
