//! A place for every request that costs something, or 429.
//!
//! `system:masters` and the health checks need none: the operators of an overloaded server must get through.

use quorate_meta::Status;
use quorate_meta::well_known::GROUP_MASTERS;

use crate::Api;
use crate::handlers::Route;
use quorate_access::authentication::User;
use quorate_access::flow_control::{Class, Place};
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::error::Error;

/// When a client may come back that found no place.
const RETRY_SECONDS: u32 = 1;

/// Waits for a place, which is held until the answer has been sent; `None` for those who need none.
pub(super) async fn enter(api: &Api, user: &User, info: &RequestInfo, route: &Route) -> Result<Option<Place>, Error> {
    if user.is_in(GROUP_MASTERS) || matches!(route, Route::Health(..)) {
        return Ok(None);
    }
    let class = match info.verb {
        Verb::Watch => Class::LongRunning,
        verb if verb.is_write() => Class::Mutating,
        _ => Class::ReadOnly,
    };
    match api.in_flight.enter(class, &user.name).await {
        Some(place) => Ok(Some(place)),
        None => {
            let why = "the server has received too many requests and has asked us to try again later";
            Err(Status::too_many_requests(why, RETRY_SECONDS).into())
        }
    }
}
