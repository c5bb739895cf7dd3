//! Create, update, patch and delete over HTTP: codes, bodies, warnings.

mod create;
mod delete;
mod patch;
mod update;

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const MAP: &str = "/api/v1/namespaces/a/configmaps/m";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

async fn send(server: &Server, method: Method, path: &str, media: &str, body: &str) -> Answer {
    server.send(method, path, &[("content-type", media), ("user-agent", "tester/1.0")], body).await
}

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    send(server, Method::POST, path, "application/json", &body.to_string()).await
}

async fn put(server: &Server, path: &str, body: Value) -> Answer {
    send(server, Method::PUT, path, "application/json", &body.to_string()).await
}

async fn patch(server: &Server, media: &str, body: Value) -> Answer {
    send(server, Method::PATCH, MAP, media, &body.to_string()).await
}

/// Code, reason and the reason and field of each cause.
fn refusal(answer: &Answer) -> String {
    let body = answer.json();
    let causes = body["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes: Vec<_> =
        causes.iter().map(|c| format!(" {} {}", text(&c["reason"]), text(&c["field"]))).collect();
    format!("{} {}{}", answer.status.as_u16(), text(&body["reason"]), causes.concat())
}

fn warnings(answer: &Answer) -> Vec<String> {
    answer
        .headers
        .get_all("warning")
        .iter()
        .map(|value| value.to_str().unwrap().to_owned())
        .collect()
}
