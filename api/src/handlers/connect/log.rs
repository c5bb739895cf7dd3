//! The `log` subresource of pods: what a container has written, as its kubelet has it.
//!
//! Invariants: a pod without a node has no log, which is an empty answer and no error. The answer of
//! the kubelet is passed on while it comes; one that is no success becomes a Status.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use quorate_meta::{Cause, GroupKind, GroupVersionKind, Status, Value};
use quorate_schema::decode;

use super::options::{self, Form};
use super::{PODS, chunks, container, failed, kubelet, object, refusal};
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::kubelet::joined;
use quorate_registry::error::Error;

/// The kind of the options.
const KIND: &str = "PodLogOptions";
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");
/// The options in the order in which a kubelet is told them.
const OPTIONS: [(&str, Form); 10] = [
    ("container", Form::Text),
    ("follow", Form::Flag),
    ("insecureSkipTLSVerifyBackend", Form::Flag),
    ("limitBytes", Form::Number),
    ("previous", Form::Flag),
    ("sinceSeconds", Form::Number),
    ("sinceTime", Form::Text),
    ("stream", Form::Text),
    ("tailLines", Form::Number),
    ("timestamps", Form::Flag),
];
/// The options that no kubelet is told.
const OWN: [&str; 2] = ["container", "insecureSkipTLSVerifyBackend"];

/// Answers with the log.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (name, namespace) = (request.name()?, request.namespace());
    let mut options = options::read(&request.info.query, &OPTIONS)?;
    let graph = request.catalogue.graph();
    let kind = graph.kind(&GroupVersionKind::new("", "v1", KIND));
    let kind = kind.ok_or_else(|| Error::internal("the schema has no options of a log"))?;
    decode(graph, kind.ty, &mut options).map_err(|error| Error::bad_request(error.to_string()))?;
    let causes = problems(&options);
    if !causes.is_empty() {
        return Err(Status::invalid(&GroupKind::new("", KIND), name, causes).into());
    }
    let pod = object(api, request, PODS, namespace, name).await?;
    let container = container::choose(&pod, options.str_at(&["container"]).unwrap_or_default())?;
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    if node.is_empty() {
        let mut nothing = Response::new(Body::empty());
        *nothing.status_mut() = StatusCode::NO_CONTENT;
        return Ok(nothing);
    }
    let (host, port) = kubelet(api, request, node).await?;
    let namespace = namespace.unwrap_or_default();
    let path = format!("/containerLogs/{namespace}/{name}/{container}{}", query(&options));
    let is_checked = !is_on(&options, "insecureSkipTLSVerifyBackend");
    let network = &*api.env.network;
    let answer = api.kubelets.get(network, &joined(&host, port), &path, is_checked).await;
    passed_on(answer.map_err(failed)?, name).await
}

fn is_on(options: &Value, flag: &str) -> bool {
    options.at(&[flag]).and_then(Value::as_bool) == Some(true)
}

/// What is wrong with the options.
fn problems(options: &Value) -> Vec<Cause> {
    let number = |field: &str| options.at(&[field]).and_then(Value::as_i64);
    let mut causes = Vec::new();
    if let Some(lines) = number("tailLines").filter(|lines| *lines < 0) {
        causes.push(Cause::invalid("tailLines", lines, "must be greater than or equal to 0"));
    }
    if let Some(bytes) = number("limitBytes").filter(|bytes| *bytes < 1) {
        causes.push(Cause::invalid("limitBytes", bytes, "must be greater than 0"));
    }
    match (number("sinceSeconds"), options.at(&["sinceTime"])) {
        (Some(_), Some(_)) => causes.push(Cause::forbidden(
            "",
            "at most one of `sinceTime` or `sinceSeconds` may be specified",
        )),
        (Some(seconds), None) if seconds < 1 => {
            causes.push(Cause::invalid("sinceSeconds", seconds, "must be greater than 0"));
        }
        _ => {}
    }
    // Streams are chosen only behind a feature gate that is off.
    if options.at(&["stream"]).is_some() {
        causes.push(Cause::forbidden("stream", "may not be specified"));
    }
    causes
}

/// The query that a kubelet is asked with.
fn query(options: &Value) -> String {
    let told = OPTIONS.iter().filter(|(name, _)| !OWN.contains(name)).filter_map(|(name, _)| {
        let value = options.at(&[name])?;
        let text = match value {
            Value::String(text) => text.replace('+', "%2B").replace(':', "%3A"),
            Value::Bool(on) => on.to_string(),
            other => other.as_i64()?.to_string(),
        };
        Some(format!("{name}={text}"))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!("?{}", told.join("&")) }
}

/// The answer of a kubelet as that of the server.
async fn passed_on(answer: Response<Incoming>, name: &str) -> Result<Response<Body>, Error> {
    let status = answer.status();
    let body = chunks(answer.into_body());
    if (200..=206).contains(&status.as_u16()) {
        let mut passed = Response::new(Body::stream(body));
        passed.headers_mut().insert(CONTENT_TYPE, TEXT);
        return Ok(passed);
    }
    Err(refusal::status(status, name, refusal::text(body).await?).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn options_of_a_log() {
        let check = |options: Json, expect: &[&str]| {
            let causes = problems(&options.into());
            assert_eq!(causes.iter().map(Cause::text).collect::<Vec<_>>(), expect);
        };
        let time = "2030-01-01T00:00:00Z";
        check(json!({}), &[]);
        check(json!({"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1, "previous": true}), &[]);
        check(
            json!({"tailLines": -1, "limitBytes": 0, "sinceSeconds": 0}),
            &[
                "tailLines: Invalid value: -1: must be greater than or equal to 0",
                "limitBytes: Invalid value: 0: must be greater than 0",
                "sinceSeconds: Invalid value: 0: must be greater than 0",
            ],
        );
        check(
            json!({"sinceSeconds": 1, "sinceTime": time}),
            &["Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"],
        );
        check(json!({"stream": "All"}), &["stream: Forbidden: may not be specified"]);
    }

    #[test]
    fn what_a_kubelet_is_told() {
        let check = |options: Json, expect: &str| assert_eq!(query(&options.into()), expect);
        check(json!({}), "");
        check(json!({"container": "c", "insecureSkipTLSVerifyBackend": true}), "");
        check(
            json!({"tailLines": 5, "follow": true, "sinceTime": "2030-01-01T00:00:00+01:00"}),
            "?follow=true&sinceTime=2030-01-01T00%3A00%3A00%2B01%3A00&tailLines=5",
        );
    }
}
