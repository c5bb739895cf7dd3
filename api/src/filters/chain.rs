//! The order of the filters.
//!
//! Invariants: nothing about the cluster is told before authentication, nothing about what exists before authorization;
//! a body is read only for a request that may happen; whatever goes wrong, the client gets a Status in the syntax it
//! reads.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::header::{ACCEPT, CACHE_CONTROL, EXPECT, HeaderValue, USER_AGENT, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, Method, Request as HttpRequest, Response, StatusCode, Uri, request};
use quorate_meta::{Status, Time};
use tokio::time::{Instant, timeout};

use super::{load, payload, request_id};
use crate::Api;
use crate::audit::Record;
use crate::authentication::{Identity, User};
use crate::authorization::Action;
use crate::body::{Body, Lasting};
use crate::error::Error;
use crate::flow_control::Flow;
use crate::handlers::Request;
use crate::handlers::{self, health::Endpoint};
use crate::lifecycle::Phase;
use crate::negotiation::Format;
use crate::request::{RequestInfo, Verb};
use crate::respond;

/// How long the authorizer's answer holds for a change whose body is still coming.
const ANSWER_HOLDS: Duration = Duration::from_millis(500);
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
    let (mut head, body) = request.into_parts();
    let id = request_id::of(&head.headers, api.process, &api.requests);
    let is_head = head.method == Method::HEAD;
    join_accept(&mut head.headers);
    let mut response = answer(api, identity, head, body, &id).await;
    if is_head {
        // Over HTTP/2 nobody else leaves the body out, and clients break off over one (RFC 9110, section 9.3.2).
        response = response.map(|_| Body::empty());
    }
    let headers = response.headers_mut();
    headers.insert(request_id::HEADER, id);
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    response
}

/// The answer, or the failure in the syntax that the client reads; the audit trail follows both.
async fn answer<B>(
    api: &Arc<Api>,
    identity: &Identity,
    mut head: request::Parts,
    body: B,
    id: &HeaderValue,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    let (wanted, agent) = (head.headers.get(ACCEPT).cloned(), head.headers.get(USER_AGENT).cloned());
    let method = head.method.clone();
    // Whoever asks first whether to send a body has not sent it yet.
    let sent = !head.headers.contains_key(EXPECT);
    let uri = std::mem::take(&mut head.uri);
    let mut trace = api.audit.as_ref().map(|audit| audit.follow(id, &uri, identity));
    let flow = OnceLock::new();
    let mut response = match guarded(api, identity, (head, &uri), body.as_mut(), trace.as_mut(), &flow).await {
        Ok(response) => response,
        Err(error) => {
            if sent {
                payload::drain(body).await;
            }
            let wanted = wanted.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
            let status = error.clone().into_status();
            trace.iter_mut().for_each(|trace| trace.failed(&status));
            let (format, info) = (api.formats.for_errors(wanted), RequestInfo::parse(api.names, &method, &uri));
            let pretty = is_pretty(&info, agent.as_ref(), format.pretty);
            let is_forbidden = status.code == StatusCode::FORBIDDEN.as_u16();
            let mut response = respond::error(&Format { pretty, ..format }, error);
            if is_forbidden {
                // The text has parts that whoever asks has chosen.
                response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            }
            response
        }
    };
    flow.get().iter().for_each(|flow| api.flow_control.tell(flow, response.headers_mut()));
    match trace {
        Some(trace) => trace.answered(&api.graph, response),
        None => response,
    }
}

/// Deadline and panics around everything else.
async fn guarded<B>(
    api: &Arc<Api>,
    identity: &Identity,
    (head, uri): (request::Parts, &Uri),
    body: Pin<&mut B>,
    mut trace: Option<&mut Record<'_>>,
    flow: &OnceLock<Flow>,
) -> Result<Response<Body>, Error>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let info = RequestInfo::parse(api.names, &head.method, uri);
    let limit = info.time_asked().map_or(DEADLINE, |asked| DEADLINE.min(asked));
    let answer =
        AssertUnwindSafe(decide(api, identity, info, head.headers, body, trace.as_deref_mut(), flow)).catch_unwind();
    let answer = timeout(limit, answer).await;
    match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            tracing::error!(path = uri.path(), "a handler panicked");
            trace.into_iter().for_each(Record::panicked);
            Err(Error::internal("the request could not be handled"))
        }
        Err(_) => Err(Status::timeout("request did not complete within the allotted timeout", 0).into()),
    }
}

/// The order: who, may they, can anybody be served yet, is there such a thing, in which form, is there a place for it, with
/// what body, do it.
fn decide<'a, 't, B>(
    api: &'a Arc<Api>,
    identity: &'a Identity,
    info: RequestInfo,
    headers: HeaderMap,
    body: Pin<&'a mut B>,
    mut trace: Option<&'a mut Record<'t>>,
    flow: &'a OnceLock<Flow>,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Error>> + Send + 'a>>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    Box::pin(async move {
        let epoch = api.authorizer.epoch();
        let (user, sender) = authenticate(api, identity, &info, &headers, trace.as_deref_mut()).await?;
        info.timeout()?;
        if let Some(found) = api.flow_control.classify(&*api.store, &user, &Action::of(&info)) {
            flow.get_or_init(|| found);
        }
        authorize(api, &user, &info, trace.as_deref_mut()).await?;
        if api.lifecycle.phase() == Phase::Starting && Endpoint::find(&info.path).is_none() {
            let status = Status::service_unavailable("the server is starting and waits for a quorum");
            return Err(status.with_retry_after(STARTING_RETRY_SECONDS).into());
        }
        let route = handlers::find(api, &info)?;
        let format = match route.offer(&info) {
            Some(offer) => {
                let format = api.formats.negotiate(accept(&headers), offer);
                let format = format.map_err(|refused| respond::unacceptable(&api.formats, refused))?;
                Format { pretty: is_pretty(&info, headers.get(USER_AGENT), format.pretty), ..format }
            }
            None => Format { pretty: is_pretty(&info, headers.get(USER_AGENT), false), ..Format::JSON },
        };
        let place = load::enter(api, &user, &info, &route).await?;
        let body = if info.verb.is_write() {
            let asked = Instant::now();
            let body = payload::read(body).await?;
            // A body that takes its time must not carry a right over its end.
            if asked.elapsed() >= ANSWER_HOLDS {
                authorize(api, &user, &info, trace.as_deref_mut()).await?;
            }
            body
        } else {
            Bytes::new()
        };
        let resource = route.resource().cloned();
        if let Some(trace) = &mut trace {
            if resource.as_ref().is_some_and(|resource| resource.deprecation.is_some()) {
                trace.deprecated();
            }
            trace.body(&api.graph, resource.as_ref().map(|resource| resource.ty), &headers, &body);
        }
        let (decided_again, named, issued) = <(OnceLock<_>, OnceLock<_>, OnceLock<_>)>::default();
        let request =
            Request { info, resource, user, sender, format, headers, epoch, decided_again, named, issued, body };
        let answer = handlers::run(api, route, &request).await;
        if let Some(trace) = trace {
            request.named.get().iter().for_each(|name| trace.named(name));
            request.issued.get().iter().for_each(|credential| trace.issued(credential));
            request.decided_again.get().iter().for_each(|(allowed, reason)| trace.authorized(*allowed, reason));
        }
        // A watch may have nothing to say, and who is slow to take it goes on with its history.
        if request.info.verb != Verb::Watch {
            return Ok(answer?.map(|body| body.holding_while_taken(place)));
        }
        let mut answer = answer?.map(|body| body.holding(place));
        answer.extensions_mut().insert(Lasting);
        Ok(answer)
    })
}

/// Who asks, and who has sent that if it is somebody else who may act as them.
async fn authenticate(
    api: &Api,
    identity: &Identity,
    info: &RequestInfo,
    headers: &HeaderMap,
    trace: Option<&mut Record<'_>>,
) -> Result<(Arc<User>, Option<Arc<User>>), Error> {
    let is_health = Endpoint::find(&info.path).is_some();
    let now_ms = api.env.clock.now_ms();
    let sender = api.authentication.user(&*api.store, now_ms, identity, headers, is_health).await;
    let acting = match &sender {
        Ok(sender) => api.authorizer.acting(sender, headers, &Action::of(info)).await,
        Err(error) => Err(error.clone()),
    };
    if let Some(trace) = trace {
        let acting = acting.as_ref().ok().and_then(Option::as_ref);
        trace.received(Time::from_ms(now_ms), sender.as_ref().ok(), acting, info, headers);
    }
    let sender = sender?;
    Ok(match acting? {
        Some(user) => (Arc::new(user), Some(sender)),
        None => (sender, None),
    })
}

/// Lets through what is allowed.
async fn authorize(api: &Api, user: &User, info: &RequestInfo, trace: Option<&mut Record<'_>>) -> Result<(), Error> {
    let action = Action::of(info);
    let decision = api.authorizer.decide(user, &action).await;
    if let Some(trace) = trace {
        let (allowed, reason) = decision.outcome();
        trace.authorized(allowed, reason);
    }
    decision.enforce(user, &action)
}

/// Several Accept headers mean what one with all their clauses means (RFC 9110, section 5.3).
fn join_accept(headers: &mut HeaderMap) {
    if headers.get_all(ACCEPT).iter().nth(1).is_none() {
        return;
    }
    let all: Vec<&[u8]> = headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b", "[..])) {
        headers.insert(ACCEPT, joined);
    }
}

fn accept(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether indentation is wanted; by default only for people at a prompt.
fn is_pretty(info: &RequestInfo, agent: Option<&HeaderValue>, asked: bool) -> bool {
    if info.verb == Verb::Watch || asked {
        return info.verb != Verb::Watch;
    }
    match info.query.get("pretty") {
        Some(value) if !value.is_empty() => matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        _ => {
            let agent = agent.and_then(|value| value.to_str().ok()).unwrap_or_default();
            ["curl/", "Wget/", "Mozilla/5.0"].iter().any(|person| agent.starts_with(person))
        }
    }
}
