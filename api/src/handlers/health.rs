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
use quorate_meta::Naming;
use tokio::time::timeout;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::health::{self, Endpoint, Row};
use crate::lifecycle::Phase;
use quorate_registry::error::Error;

/// How long the linearizable read behind `/readyz` may take.
const QUORUM_WAIT: Duration = Duration::from_secs(2);

/// The paths of all endpoints and of each of their checks.
pub(crate) fn paths(api: &Api) -> Vec<String> {
    let of_endpoint = |endpoint: Endpoint| {
        let checks =
            rows(api, endpoint).map(move |(check, _)| format!("/{}/{check}", endpoint.name()));
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
    let rows: Vec<_> = rows(api, endpoint).collect();
    if let Some(one) = one {
        return match rows.iter().find(|(name, _)| *name == one) {
            None => Err(Error::no_such_path()),
            Some((_, row)) if passes(api, endpoint, row).await => {
                Ok(text(StatusCode::OK, "ok".into()))
            }
            Some((name, _)) => {
                let why = format!("internal server error: {}\n", problem(name));
                Ok(text(StatusCode::INTERNAL_SERVER_ERROR, why))
            }
        };
    }
    let excluded: Vec<&str> = request.info.query.all("exclude").collect();
    let mut report = String::new();
    let mut failed = Vec::new();
    for (name, row) in &rows {
        if excluded.contains(name) {
            report.push_str(&format!("[+]{name} excluded: ok\n"));
        } else if passes(api, endpoint, row).await {
            report.push_str(&format!("[+]{name} ok\n"));
        } else {
            report.push_str(&format!("[-]{name} failed: reason withheld\n"));
            failed.push(*name);
        }
    }
    report.push_str(&warning(&excluded, rows.iter().map(|(name, _)| *name)));
    let closing = closing(api.names.naming, endpoint);
    let verbose = request.info.query.get("verbose").is_some();
    Ok(if !failed.is_empty() {
        tracing::debug!(endpoint = endpoint.name(), ?failed, "health check failed");
        text(StatusCode::INTERNAL_SERVER_ERROR, format!("{report}{closing} check failed\n"))
    } else if verbose {
        text(StatusCode::OK, format!("{report}{closing} check passed\n"))
    } else {
        text(StatusCode::OK, "ok".into())
    })
}

/// What the last line of a report begins with.
fn closing(naming: Naming, endpoint: Endpoint) -> &'static str {
    match naming {
        Naming::Svc => Endpoint::Health.name(),
        Naming::Kubernetes => endpoint.name(),
    }
}

/// What a check that fails says where it is asked for alone: what its name says as well.
fn problem(name: &str) -> &'static str {
    match name {
        health::SHUTDOWN => "process is shutting down",
        health::QUORUM => "the quorum does not answer",
        health::STORE => "the store does not answer",
        health::LOG => "logging blocked",
        health::INFORMERS => "informers not started yet",
        health::AUTOREGISTER_COMPLETION => "missing APIService",
        _ => "not finished",
    }
}

/// The line about what is to be left out and is not among these checks; empty when all is.
fn warning<'n>(excluded: &[&str], names: impl Iterator<Item = &'n str> + Clone) -> String {
    let unknown = excluded.iter().filter(|excluded| !names.clone().any(|name| name == **excluded));
    let unknown: BTreeSet<String> = unknown.map(|name| format!("{name:?}")).collect();
    if unknown.is_empty() {
        return String::new();
    }
    let unknown = unknown.into_iter().collect::<Vec<_>>().join(",");
    format!("warn: some health checks cannot be excluded: no matches for {unknown}\n")
}

/// The checks of an endpoint with their names, in the order of the report.
fn rows(api: &Api, endpoint: Endpoint) -> impl Iterator<Item = (&'static str, &'static Row)> {
    let of_endpoint = move |row: &&Row| endpoint == Endpoint::Ready || !row.of_readiness;
    let is_answered = move |row: &&Row| is_built_in(api, endpoint, row) || api.health.has(row);
    Row::all()
        .filter(of_endpoint)
        .filter(is_answered)
        .filter_map(|row| Some((row.name_in(api.names.naming)?, row)))
}

/// Whether the server answers a check by itself.
fn is_built_in(api: &Api, endpoint: Endpoint, row: &Row) -> bool {
    matches!(row.name(), health::PING | health::SHUTDOWN) || asks_quorum(api, endpoint, row)
}

/// Whether a check is about the quorum. A profile without a name for that has it in the check of
/// the store; liveness never has it.
fn asks_quorum(api: &Api, endpoint: Endpoint, row: &Row) -> bool {
    let name = match api.names.naming {
        Naming::Svc => health::STORE,
        Naming::Kubernetes => health::QUORUM,
    };
    endpoint == Endpoint::Ready && row.name() == name
}

async fn passes(api: &Api, endpoint: Endpoint, row: &Row) -> bool {
    let passes = ask(api, endpoint, row).await;
    let name = row.name_in(api.names.naming).unwrap_or(row.name());
    api.metrics.health.checked(name, endpoint.name(), passes);
    passes
}

async fn ask(api: &Api, endpoint: Endpoint, row: &Row) -> bool {
    if asks_quorum(api, endpoint, row)
        && !matches!(timeout(QUORUM_WAIT, api.store.read_index()).await, Ok(Ok(_)))
    {
        return false;
    }
    match row.name() {
        // That it answers is all there is to check.
        health::PING => true,
        health::SHUTDOWN => api.lifecycle.phase() == Phase::Serving,
        _ => !api.health.has(row) || api.health.passes(endpoint, row),
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
        let check = |excluded: &[&str], expect: &str| {
            let names = ["ping", "log"].into_iter();
            assert_eq!(warning(excluded, names), expect, "{excluded:?}")
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
