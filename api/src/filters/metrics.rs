//! The metrics filter: counts the request when its answer has ended.
//!
//! Invariant: it only reads; nothing about a response depends on it. A request is counted once: when
//! its answer is whole, when the stream of it ends, or when its client leaves.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{Response, StatusCode};
use quorate_registry::Resource;
use tokio::time::Instant;

use super::Exchange;
use crate::body::{Body, Chunks};
use crate::metrics::{RequestEnd, RequestUnderWay, Running, is_long_running};
use crate::request_record::{Milestone, RequestRecord};
use quorate_access::authentication::User;

/// The user as whom API servers send requests to each other.
const API_SERVER: &str = "system:apiserver";

/// The request begins to execute; what is given ends that. Of a watch that is the begin only.
pub(super) fn enter(x: &Exchange<'_>) -> Option<Running> {
    let admitted = x.record.time_to(Milestone::Admitted)?;
    let now = x.record.received() + admitted;
    let is_long = is_long_running(x.record.info());
    let writes = x.record.info().verb.is_write();
    (!is_long).then(|| x.api.metrics.in_flight.enter(writes, now))
}

/// The response is there.
pub(super) fn response_complete(x: &Exchange<'_>, response: Response<Body>) -> Response<Body> {
    count_access(x);
    let record = &x.record;
    let end = RequestEnd {
        info: record.info(),
        headers: &x.headers,
        resource: resource(x),
        status: response.status(),
        request_bytes: record.request_bytes(),
        deprecated: record.is_deprecated().then(|| record.removed_release()),
        is_terminated: is_terminated(record, response.status()),
        is_own: record.user().is_some_and(|user| user.name == API_SERVER),
        waited: record.queue_time() + record.webhook_time(),
    };
    let metrics = &x.api.metrics.requests;
    if let Some(bytes) = record.response_bytes() {
        metrics.ended(&end, record.age(), bytes);
        return response;
    }
    let counted = Counted {
        request: metrics.answering(&end),
        begin: record.received(),
        request_bytes: end.request_bytes,
        bytes: 0,
    };
    response
        .map(|body| Body::stream(Box::pin(CountedChunks { chunks: body.into_chunks(), counted })))
}

/// The client has left before there was a response.
pub(super) fn client_left(x: &Exchange<'_>) {
    x.api.metrics.requests.aborted(x.record.info(), &x.headers, resource(x));
}

/// The resource of the path, where that is served.
fn resource<'x>(x: &'x Exchange<'_>) -> Option<&'x Resource> {
    let info = x.record.info();
    let is_served = |resource: &&Arc<Resource>| resource.served;
    let found = info
        .is_resource
        .then(|| x.catalogue.find(&info.group, &info.version, &info.resource).filter(is_served));
    found.flatten().map(|resource| &**resource)
}

/// Whether the server refused or ended the request to protect itself.
fn is_terminated(record: &RequestRecord<'_>, status: StatusCode) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS => record.time_to(Milestone::Admitted).is_none(),
        StatusCode::GATEWAY_TIMEOUT => record.time_to(Milestone::Handled).is_none(),
        _ => record.has_panicked(),
    }
}

/// Counts what was decided about the user.
fn count_access(x: &Exchange<'_>) {
    let (record, metrics) = (&x.record, &x.api.metrics.access);
    let Some(authenticated) = record.time_to(Milestone::Authenticated) else {
        let is_wrong = record.status() == Some(StatusCode::UNAUTHORIZED);
        return metrics.not_authenticated(is_wrong, record.age());
    };
    if let Some(user) = record.original_user().or(record.user()) {
        metrics.authenticated(user, authenticated);
        count_certificate(x, user);
    }
    if let (Some(decision), Some(authorized)) =
        (record.decision(), record.time_to(Milestone::Authorized))
    {
        metrics.authorized(decision, authorized.saturating_sub(authenticated));
        if let Some(admitted) = record.time_to(Milestone::Admitted) {
            metrics.admitted(admitted.saturating_sub(authorized));
        }
    }
}

fn count_certificate(x: &Exchange<'_>, user: &Arc<User>) {
    let is_its_user = x.identity.certificate.as_ref().is_some_and(|own| Arc::ptr_eq(own, user));
    if let Some(until) = x.identity.until_ms.filter(|_| is_its_user) {
        let left = until.saturating_sub(x.record.received_ms());
        x.api.metrics.access.by_certificate(Duration::from_millis(left));
    }
}

/// An answer that is being sent, counted when it is dropped.
struct Counted {
    request: RequestUnderWay,
    begin: Instant,
    request_bytes: usize,
    bytes: u64,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.request.ended(self.begin.elapsed(), self.bytes, self.request_bytes);
    }
}

/// The buffers of an answer that is counted.
struct CountedChunks {
    chunks: Chunks,
    counted: Counted,
}

impl Stream for CountedChunks {
    type Item = std::io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.chunks.as_mut().poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            self.counted.bytes += bytes.len() as u64;
        }
        next
    }
}
