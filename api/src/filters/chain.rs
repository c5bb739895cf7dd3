//! The order of the filters.
//!
//! Invariants: nothing about the cluster is told before authentication, nothing about what exists before authorization;
//! a body is read only for a request that may happen; whatever goes wrong, the client gets a Status in the syntax it
//! reads.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, EXPECT, HeaderValue};
use http::{HeaderMap, Request as HttpRequest, Response, request};
use quorate_meta::Status;
use tokio::time::timeout;

use super::{payload, request_id};
use crate::Api;
use crate::authentication::{Identity, User, effective};
use crate::authorization::authorize;
use crate::body::Body;
use crate::error::Error;
use crate::handlers::{self, health::Endpoint};
use crate::lifecycle::Phase;
use crate::negotiation::{self, Format};
use crate::request::{Request, RequestInfo, Verb};
use crate::respond;

/// How long a request may take that is not a watch. The body of a list is sent after that, at the client's pace.
const DEADLINE: Duration = Duration::from_secs(60);

/// When a client may come back that came before the node was ready.
const STARTING_RETRY_SECONDS: u32 = 1;

/// Answers a request. Never fails: every failure is an answer.
pub async fn handle<B>(api: &Arc<Api>, identity: &Identity, request: HttpRequest<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let (head, body) = request.into_parts();
    let mut body = pin!(body);
    let id = request_id::of(&head.headers, api.process, &api.requests);
    let wanted = head.headers.get(ACCEPT).cloned();
    // Whoever asks first whether to send a body has not sent it yet.
    let sent = !head.headers.contains_key(EXPECT);
    let mut response = match guarded(api, identity, head, body.as_mut()).await {
        Ok(response) => response,
        Err(error) => {
            if sent {
                payload::drain(body).await;
            }
            let wanted = wanted.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
            respond::error(&negotiation::for_errors(wanted), error)
        }
    };
    let headers = response.headers_mut();
    headers.insert(request_id::HEADER, id);
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    response
}

/// Deadline and panics around everything else.
async fn guarded<B>(
    api: &Arc<Api>,
    identity: &Identity,
    head: request::Parts,
    body: Pin<&mut B>,
) -> Result<Response<Body>, Error>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let info = RequestInfo::parse(api.names, &head.method, &head.uri);
    let path = info.path.clone();
    let answer = AssertUnwindSafe(decide(api, identity, info, head.headers, body)).catch_unwind();
    match timeout(DEADLINE, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            tracing::error!(%path, "a handler panicked");
            Err(Error::internal("the request could not be handled"))
        }
        Err(_) => Err(Status::timeout("request did not complete within the allotted timeout", 0).into()),
    }
}

/// The order: who, may they, can anybody be served yet, is there such a thing, in which form, with what body, do it. The audit trail's seam is
/// between the first two; limits on load (429) belong right after authorization.
fn decide<'a, B>(
    api: &'a Arc<Api>,
    identity: &'a Identity,
    info: RequestInfo,
    headers: HeaderMap,
    body: Pin<&'a mut B>,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Error>> + Send + 'a>>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    Box::pin(async move {
        let user: User = authenticate(identity, &headers)?;
        authorize(&user, &info)?;
        if api.lifecycle.phase() == Phase::Starting && Endpoint::find(&info.path).is_none() {
            let status = Status::service_unavailable("the server is starting and waits for a quorum");
            return Err(status.with_retry_after(STARTING_RETRY_SECONDS).into());
        }
        let route = handlers::find(api, &info)?;
        let format = match route.offer(info.verb) {
            Some(offer) => {
                let format = negotiation::negotiate(api.names, accept(&headers), offer);
                Format { pretty: is_pretty(&info, &headers), ..format.map_err(respond::unacceptable)? }
            }
            None => Format::JSON,
        };
        let body = if info.verb.is_write() { payload::read(body).await? } else { Bytes::new() };
        let resource = route.resource().cloned();
        let request = Request { info, resource, user, format, headers, body };
        handlers::run(api, route, &request).await
    })
}

/// The user that the connection proved, or the one it acts as. A bearer token that nobody can check is no credential, and
/// a wrong credential beside a right one is refused.
fn authenticate(identity: &Identity, headers: &HeaderMap) -> Result<User, Error> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
    let token = bearer.is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty());
    match &identity.certificate {
        Some(user) if !token => effective(user, headers),
        _ => Err(Status::unauthorized().into()),
    }
}

fn accept(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether indentation is wanted; by default only for people at a prompt.
fn is_pretty(info: &RequestInfo, headers: &HeaderMap) -> bool {
    if info.verb == Verb::Watch {
        return false;
    }
    match info.query.get("pretty") {
        Some(value) if !value.is_empty() => matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        _ => {
            let agent = headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
            ["curl/", "Wget/", "Mozilla/5.0"].iter().any(|person| agent.starts_with(person))
        }
    }
}
