//! The pages of metrics: `/metrics`, and `/metrics/slis` with the service level indicators alone.
//!
//! Invariant: DELETE of the first forgets what was counted until then, for those who read it here.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use quorate_access::request::Verb;
use quorate_env::blocking_whenever_it_runs;
use quorate_registry::error::Error;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::metrics::{MetricsPage, TextFormat};

/// What a reset is answered with.
const RESET: &str = "metrics reset\n";

/// Whether a page is served by a verb.
pub(super) fn serves(page: MetricsPage, verb: Verb) -> bool {
    matches!((page, verb), (_, Verb::Get) | (MetricsPage::All, Verb::Delete))
}

pub(super) async fn handle(
    api: &Api,
    request: &Request<'_>,
    page: MetricsPage,
) -> Result<Response<Body>, Error> {
    let registry = &api.metrics.registry;
    if request.info.verb == Verb::Delete {
        registry.reset();
        return Ok(text(RESET.to_owned(), "text/plain; charset=utf-8"));
    }
    let accept = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let format = TextFormat::of_accept(accept.unwrap_or_default());
    let body = blocking_whenever_it_runs(async { registry.text(format, |name| page.has(name)) });
    Ok(text(body.await, format.content_type()))
}

fn text(body: String, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
