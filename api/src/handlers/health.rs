//! The health endpoints `/livez`, `/readyz` and `/healthz`: named checks, as text for probes and
//! people.
//!
//! Invariants: liveness never depends on the quorum; readiness does, through one linearizable read
//! with a limit on time. A check answers with a reason only here in text, never with details that a
//! prober should not see.

use std::collections::BTreeSet;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use tokio::time::timeout;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::health::Endpoint;
use crate::lifecycle::Phase;
use quorate_registry::error::Error;

/// How long the linearizable read behind `/readyz` may take.
const QUORUM_WAIT: Duration = Duration::from_secs(2);

/// What has been done once the server serves: until then its state may be older than what it told
/// before, and it tells of no group and admits nothing. It decides about readiness only; elsewhere
/// it is named and passes.
const STARTED: [&str; 3] = [
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/start-kube-apiserver-admission-initializer",
    "autoregister-completion",
];

/// The paths of all endpoints and of each of their checks.
pub(crate) fn paths(api: &Api) -> Vec<String> {
    let of_endpoint = |endpoint: Endpoint| {
        let checks = names(api, endpoint)
            .into_iter()
            .map(move |check| format!("/{}/{check}", endpoint.name()));
        checks.chain([format!("/{}", endpoint.name())])
    };
    Endpoint::ALL.into_iter().flat_map(of_endpoint).collect()
}

pub(crate) async fn handle(
    api: &Api,
    request: &Request<'_>,
    endpoint: Endpoint,
    one: Option<&str>,
) -> Result<Response<Body>, Error> {
    let names = names(api, endpoint);
    if let Some(one) = one {
        return match names.iter().find(|name| *name == one) {
            None => Err(Error::no_such_path()),
            Some(name) if passes(api, endpoint, name).await => {
                Ok(text(StatusCode::OK, "ok".into()))
            }
            Some(name) => {
                let why = format!("internal server error: {}\n", problem(name));
                Ok(text(StatusCode::INTERNAL_SERVER_ERROR, why))
            }
        };
    }
    let excluded: Vec<&str> = request.info.query.all("exclude").collect();
    let mut report = String::new();
    let mut failed = Vec::new();
    for name in &names {
        if excluded.contains(&name.as_str()) {
            report.push_str(&format!("[+]{name} excluded: ok\n"));
        } else if passes(api, endpoint, name).await {
            report.push_str(&format!("[+]{name} ok\n"));
        } else {
            report.push_str(&format!("[-]{name} failed: reason withheld\n"));
            failed.push(name.as_str());
        }
    }
    report.push_str(&warning(&excluded, &names));
    let verbose = request.info.query.get("verbose").is_some();
    Ok(if !failed.is_empty() {
        tracing::debug!(endpoint = endpoint.name(), ?failed, "health check failed");
        text(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("{report}{} check failed\n", endpoint.name()),
        )
    } else if verbose {
        text(StatusCode::OK, format!("{report}{} check passed\n", endpoint.name()))
    } else {
        text(StatusCode::OK, "ok".into())
    })
}

/// What a check that fails says where it is asked for alone: what its name says as well.
fn problem(name: &str) -> &'static str {
    match name {
        "shutdown" => "process is shutting down",
        "quorum" => "the quorum does not answer",
        name if name.starts_with("poststarthook/") => "not finished",
        _ => "failed",
    }
}

/// The line about what is to be left out and is not among these checks; empty when all is.
fn warning(excluded: &[&str], names: &[String]) -> String {
    let unknown = excluded.iter().filter(|excluded| !names.iter().any(|name| name == *excluded));
    let unknown: BTreeSet<String> = unknown.map(|name| format!("{name:?}")).collect();
    if unknown.is_empty() {
        return String::new();
    }
    let unknown = unknown.into_iter().collect::<Vec<_>>().join(",");
    format!("warn: some health checks cannot be excluded: no matches for {unknown}\n")
}

/// The checks of an endpoint, in the order of the report.
fn names(api: &Api, endpoint: Endpoint) -> Vec<String> {
    let mut names: Vec<String> = ["ping", "log", "etcd"].map(Into::into).to_vec();
    if endpoint == Endpoint::Ready {
        names.push("quorum".into());
    }
    names.extend(STARTED.map(Into::into));
    names.extend(api.health.names());
    if endpoint == Endpoint::Ready {
        names.push("shutdown".into());
    }
    names
}

async fn passes(api: &Api, endpoint: Endpoint, name: &str) -> bool {
    match name {
        // Log and store live in this process: while it answers, they do, and what cannot serve
        // stops the process.
        "ping" | "log" | "etcd" => true,
        "quorum" => matches!(timeout(QUORUM_WAIT, api.store.read_index()).await, Ok(Ok(_))),
        name if STARTED.contains(&name) => {
            endpoint != Endpoint::Ready || api.lifecycle.phase() > Phase::Starting
        }
        "shutdown" => api.lifecycle.phase() == Phase::Serving,
        _ => api.health.passes(endpoint, name),
    }
}

fn text(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_left_out() {
        let names = ["ping", "log"].map(str::to_owned);
        let check = |excluded: &[&str], expect: &str| {
            assert_eq!(warning(excluded, &names), expect, "{excluded:?}")
        };
        check(&[], "");
        check(&["log", "ping"], "");
        let line = |names: &str| {
            format!("warn: some health checks cannot be excluded: no matches for {names}\n")
        };
        check(&["zz"], &line("\"zz\""));
        check(&["zz", "ping", "a\"", "zz"], &line("\"a\\\"\",\"zz\""));
    }
}
