//! The filter of requests in flight: seats for every request that its priority level limits, or 429.
//!
//! Where priority and fairness is switched off, there is one limit for all that read and one for all
//! that write; `system:masters` and the health checks then need no place, as the flow schemas say
//! otherwise: the operators of an overloaded server must get through. Watches have a limit of their
//! own in either case.

use quorate_meta::well_known::GROUP_MASTERS;
use quorate_meta::{SmolStr, Status};

use super::Exchange;
use crate::handlers::Route;
use crate::metrics::is_long_running;
use crate::request_record::Milestone;
use quorate_access::authentication::User;
use quorate_access::flow_control::{
    Class, ExecutingRequest, Flow, OBJECTS_PER_SEAT, RequestDetails, Seat, WorkEstimate,
};
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::Resource;
use quorate_registry::error::Error;
use tokio::time::Instant;

/// When a client may come back that found no seat.
const RETRY_SECONDS: u32 = 1;

/// What a request in flight holds; dropping it gives it back.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Its seats in its priority level: of a watch, while it begins.
    pub(super) executing: Option<ExecutingRequest>,
    /// Its place among the requests of its class.
    pub(super) counted: Option<Seat>,
}

/// Waits for a place, which is held until the response has been sent.
pub(super) async fn enter(
    x: &mut Exchange<'_>,
    user: &User,
    route: &Route,
) -> Result<Place, Error> {
    let mut place = Place::default();
    let is_limiting = x.api.flow_control.is_limiting();
    // A stream to another server goes on as long as its client likes: it takes no seat of others.
    let is_connecting = is_long_running(x.record.info()) && x.record.info().verb != Verb::Watch;
    if let (true, false, Some(flow)) = (is_limiting, is_connecting, x.record.flow()) {
        let (verb, until) = (x.record.info().verb, x.record.end_of_wait());
        let estimate = estimate(x, flow, route);
        let (y, mut waiting) = (&*x, None);
        let details = || {
            waiting = Some((y.api.metrics.in_flight.enqueue(verb.is_write()), Instant::now()));
            details(y, user, flow)
        };
        let is_watch = verb == Verb::Watch;
        let admitted = y.api.flow_control.admit(flow, estimate, is_watch, until, details).await;
        if let Some((_enqueued, since)) = waiting {
            x.record.queued(since.elapsed());
        }
        place.executing = Some(admitted.map_err(|_| too_many())?);
    }
    let is_exempt = user.is_in(GROUP_MASTERS) || matches!(route, Route::Health(..));
    let class = match x.record.info().verb {
        Verb::Watch => Some(Class::LongRunning),
        _ if is_connecting => Some(Class::LongRunning),
        _ if is_limiting => None,
        verb if verb.is_write() => Some(Class::Mutating),
        _ => Some(Class::ReadOnly),
    };
    if let (false, Some(class)) = (is_exempt, class) {
        let begin = Instant::now();
        let seat = x.api.in_flight.enter(class, &user.name).await;
        if !is_limiting {
            x.record.queued(begin.elapsed());
        }
        place.counted = Some(seat.ok_or_else(too_many)?);
    }
    x.record.reach(Milestone::Admitted);
    Ok(place)
}

/// What operators are told of a request that waits.
fn details(x: &Exchange<'_>, user: &User, flow: &Flow) -> RequestDetails {
    let info = x.record.info();
    let text = |part: &Option<SmolStr>| part.as_deref().unwrap_or_default().to_owned();
    let namespace = text(&info.namespace);
    RequestDetails {
        distinguisher: flow.distinguisher(&user.name, &namespace).to_owned(),
        received_ms: x.record.received_ms(),
        user: user.name.clone(),
        verb: info.verb.name().to_owned(),
        path: info.path.clone(),
        namespace,
        name: text(&info.name),
        api_version: info.api_version.to_string(),
        resource: info.resource.to_string(),
        subresource: text(&info.subresource),
    }
}

fn too_many() -> Error {
    let why = "the server has received too many requests and has asked us to try again later";
    Status::too_many_requests(why, RETRY_SECONDS).into()
}

/// What the request will cost.
fn estimate(x: &Exchange<'_>, flow: &Flow, route: &Route) -> WorkEstimate {
    let info = x.record.info();
    let (Some(widest), Some(resource)) = (flow.widest_request(), route.resource()) else {
        return WorkEstimate::ONE_SEAT;
    };
    match info.verb {
        Verb::List => WorkEstimate::of_list(listed_objects(x, resource, widest), widest),
        Verb::Watch if tells_state_first(info) => {
            WorkEstimate::of_list(stored_objects(x, resource, widest), widest)
        }
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete if resource.stored => {
            let watchers = watchers(x, resource);
            x.api.flow_control.note_watchers(flow, watchers);
            WorkEstimate::of_write(watchers, widest)
        }
        _ => WorkEstimate::ONE_SEAT,
    }
}

/// Objects that a list looks at, as far as they matter: those on the page, or all of the collection
/// where selectors choose among them.
fn listed_objects(x: &Exchange<'_>, resource: &Resource, widest: u32) -> usize {
    let query = &x.record.info().query;
    let selects =
        ["labelSelector", "fieldSelector"].iter().any(|name| !query.text(name).is_empty());
    let limit = query.int("limit").ok().flatten().and_then(|limit| usize::try_from(limit).ok());
    match limit {
        Some(limit) if limit > 0 && !selects => {
            count_stored(x, resource, limit.min(counted_objects(widest)))
        }
        _ => stored_objects(x, resource, widest),
    }
}

/// Objects in the collection, counted as far as they make a request wider.
fn stored_objects(x: &Exchange<'_>, resource: &Resource, widest: u32) -> usize {
    count_stored(x, resource, counted_objects(widest))
}

/// Objects that make a request as wide as any.
fn counted_objects(widest: u32) -> usize {
    (widest as usize).saturating_mul(OBJECTS_PER_SEAT as usize)
}

/// Objects in the collection, at most so many.
fn count_stored(x: &Exchange<'_>, resource: &Resource, most: usize) -> usize {
    let prefix = resource.prefix(x.record.info().namespace.as_deref());
    x.api.store.snapshot().count(&prefix, None).min(most)
}

/// Whether a watch begins with the state.
fn tells_state_first(info: &RequestInfo) -> bool {
    let asked = info.query.flag("sendInitialEvents");
    asked.unwrap_or_else(|| matches!(info.query.text("resourceVersion"), "" | "0"))
}

/// Watches that the write has to be told to.
fn watchers(x: &Exchange<'_>, resource: &Resource) -> usize {
    let info = x.record.info();
    // What makes a token changes no account.
    if info.resource == "serviceaccounts" && info.subresource.as_deref() == Some("token") {
        return 0;
    }
    let everywhere = resource.prefix(None);
    match info.namespace.as_deref() {
        Some(namespace) => {
            let here = resource.prefix(Some(namespace));
            x.api.flow_control.watches().of(&[&everywhere, &here])
        }
        None => x.api.flow_control.watches().of(&[&everywhere]),
    }
}
