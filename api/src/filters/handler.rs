//! The end of the filters: the handler of the route answers the request, and its answer holds the
//! place in flight. The seats of a watch are its handler's, which gives them back when the watch has
//! begun.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use parking_lot::Mutex;

use super::Exchange;
use super::in_flight::Place;
use crate::body::{Body, Lasting};
use crate::handlers::{self, Request, Route};
use crate::metrics::is_long_running;
use crate::negotiation::Format;
use crate::request_record::Milestone;
use quorate_access::authentication::User;
use quorate_access::request::Verb;
use quorate_registry::error::Error;

/// Runs the handler.
pub(super) async fn run(
    x: &mut Exchange<'_>,
    user: &Arc<User>,
    route: Route,
    format: Format,
    body: Bytes,
    place: Place,
) -> Result<Response<Body>, Error> {
    let Place { executing, counted } = place;
    let is_watch = x.record.info().verb == Verb::Watch;
    let is_lasting = is_long_running(x.record.info());
    let (starting, executing) = if is_watch { (executing, None) } else { (None, executing) };
    let request = Request {
        info: x.record.info(),
        catalogue: &x.catalogue,
        resource: route.resource().cloned(),
        user,
        original_user: x.record.original_user(),
        format,
        headers: &x.headers,
        epoch: x.epoch,
        body,
        record: &x.record,
        starting: Mutex::new(starting),
    };
    let answer = handlers::run(x.api, route, &request).await;
    x.record.reach(Milestone::Handled);
    let answer = answer?;
    // A watch may have nothing to send, and its client, when it is slow, goes on with the store's
    // history; a log is its kubelet's.
    if !is_lasting {
        return Ok(answer.map(|body| body.holding_while_taken((executing, counted))));
    }
    let mut answer = answer.map(|body| body.holding(counted));
    answer.extensions_mut().insert(Lasting);
    Ok(answer)
}
