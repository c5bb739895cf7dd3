//! Which requests are traced, and with which spans.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::pending;
use http::{Method, Request};
use http_body::Frame;
use http_body_util::StreamBody;
use quorate_api::filters;
use quorate_trace::{AttributeValue, FinishedTrace, MAX_PARENT_SAMPLED, SpanRecord};
use serde_json::json;
use tokio::time::timeout;

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SAMPLED: (&str, &str) =
    ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
const NOT_SAMPLED: (&str, &str) =
    ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");

fn names(trace: &FinishedTrace) -> Vec<&str> {
    trace.spans.iter().map(|span| &*span.name).collect()
}

fn root(trace: &FinishedTrace) -> &SpanRecord {
    trace.spans.last().expect("the request's own")
}

/// The values of an attribute.
fn attribute<'t>(trace: &'t FinishedTrace, key: &str) -> Option<&'t AttributeValue> {
    root(trace).attributes.iter().find(|(found, _)| *found == key).map(|(_, value)| value)
}

#[tokio::test]
async fn a_write_of_a_sampled_trace_has_a_span_for_each_step() {
    let server = Server::with_namespace().await;
    let body = json!({"metadata": {"name": "m"}}).to_string();
    let answer = server.send(Method::POST, MAPS, &[SAMPLED], body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let traces = server.traces.take();
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!(
        names(trace),
        [
            "authentication",
            "authorization",
            "flow_control",
            "request_body",
            "decode",
            "prepare",
            "mutate",
            "default",
            "validate",
            "allocate",
            "admit",
            "commit",
            "encode",
            "handler",
            "POST /api/v1/namespaces/{namespace}/configmaps",
        ]
    );
    assert_eq!(trace.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(root(trace).parent.unwrap().to_string(), "00f067aa0ba902b7");
    assert_eq!(attribute(trace, "url.path"), Some(&MAPS.into()));
    assert_eq!(attribute(trace, "http.response.status_code"), Some(&201_u16.into()));
    assert_eq!(root(trace).error, None);
}

#[tokio::test]
async fn only_known_users_of_sampled_traces_have_their_requests_told() {
    let server = Server::with_namespace().await;
    let check = async |server: &Server, headers: &[(&str, &str)], expect: usize| {
        server.send(Method::GET, MAPS, headers, "").await;
        assert_eq!(server.traces.take().len(), expect, "{headers:?}");
    };
    check(&server, &[], 0).await;
    check(&server, &[SAMPLED], 1).await;
    check(&server, &[NOT_SAMPLED], 0).await;
    check(&server, &[SAMPLED, NOT_SAMPLED], 0).await;
    check(&server, &[("traceparent", "00-1-2-01")], 0).await;
    let anonymous = server.by(None);
    // Whose requests take nothing of what others may have sampled.
    for _ in 0..2 * MAX_PARENT_SAMPLED {
        check(&anonymous, &[SAMPLED], 0).await;
    }
    check(&server, &[SAMPLED], 1).await;
    check(&server, &[SAMPLED, ("authorization", "Bearer wrong")], 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_sampled_request_whose_client_leaves_is_told() {
    let server = Server::with_namespace().await;
    let body = StreamBody::new(pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::post(MAPS).header(SAMPLED.0, SAMPLED.1).body(body).unwrap();
    let answer = filters::handle(&server.api, &server.identity, request);
    assert!(timeout(Duration::from_secs(1), answer).await.is_err(), "the body never ends");
    let traces = server.traces.take();
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    assert!(names(trace).contains(&"request_body"), "{:?}", names(trace));
    assert_eq!(root(trace).error.as_deref(), Some("the client has left"));
    assert_eq!(attribute(trace, "http.response.status_code"), None);
}

#[tokio::test]
async fn a_failure_of_the_client_is_not_told() {
    let server = Server::with_namespace().await;
    let check = async |path: &str, status: u16| {
        assert_eq!(server.get(path).await.status, status, "{path}");
        assert_eq!(server.traces.take(), [], "{path}");
    };
    check(&format!("{MAPS}/none"), 404).await;
    check(&format!("{MAPS}?limit=many"), 400).await;
    check("/apis/nothing.example.com/v1/things", 404).await;
}
