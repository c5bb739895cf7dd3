//! The filter of requests in flight: a seat for every request that costs something, or 429.
//!
//! `system:masters` and the health checks need none: the operators of an overloaded server must get
//! through.

use quorate_meta::Status;
use quorate_meta::well_known::GROUP_MASTERS;

use super::Exchange;
use crate::handlers::Route;
use crate::request_record::Milestone;
use quorate_access::authentication::User;
use quorate_access::flow_control::{Class, Seat};
use quorate_access::request::Verb;
use quorate_registry::error::Error;

/// When a client may come back that found no seat.
const RETRY_SECONDS: u32 = 1;

/// Waits for a seat, which is held until the response has been sent; `None` for a request that
/// needs none.
pub(super) async fn enter(
    x: &mut Exchange<'_>,
    user: &User,
    route: &Route,
) -> Result<Option<Seat>, Error> {
    if user.is_in(GROUP_MASTERS) || matches!(route, Route::Health(..)) {
        x.record.reach(Milestone::Admitted);
        return Ok(None);
    }
    let class = match x.record.info().verb {
        Verb::Watch => Class::LongRunning,
        verb if verb.is_write() => Class::Mutating,
        _ => Class::ReadOnly,
    };
    let seat = x.api.in_flight.enter(class, &user.name).await;
    let why = "the server has received too many requests and has asked us to try again later";
    let seat = seat.ok_or_else(|| Status::too_many_requests(why, RETRY_SECONDS))?;
    x.record.reach(Milestone::Admitted);
    Ok(Some(seat))
}
