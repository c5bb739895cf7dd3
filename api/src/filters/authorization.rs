//! The authorization filter: lets through what the user may do, and refuses everything else with
//! 403.

use super::Exchange;
use crate::request_record::Milestone;
use quorate_access::authentication::User;
use quorate_access::authorization::Action;
use quorate_registry::error::Error;

/// Asks the authorizer. The record keeps its decision.
pub(super) async fn authorize(
    x: &mut Exchange<'_>,
    user: &User,
    action: &Action<'_>,
) -> Result<(), Error> {
    let decision = x.api.authorizer.decide(user, action).await;
    let refused =
        if decision.is_allowed() { Ok(()) } else { decision.clone().enforce(user, action) };
    x.record.decided(decision);
    // A write whose body came slowly is asked about again.
    if x.record.time_to(Milestone::Authorized).is_none() {
        x.record.reach(Milestone::Authorized);
    }
    refused
}
