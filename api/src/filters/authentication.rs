//! The authentication filter: finds the user of the request's credentials, or refuses it with 401.

use std::sync::Arc;

use super::Exchange;
use crate::health::Endpoint;
use crate::request_record::Milestone;
use quorate_access::authentication::User;
use quorate_registry::error::Error;

/// The user who sent the request. A wrong credential is refused, also where none is needed.
pub(super) async fn authenticate(x: &mut Exchange<'_>) -> Result<Arc<User>, Error> {
    let is_health = Endpoint::find(&x.record.info().path).is_some();
    let (api, now_ms) = (x.api, x.record.received_ms());
    let user =
        api.authentication.user(&*api.store, now_ms, x.identity, &x.headers, is_health).await?;
    x.record.authenticated(Arc::clone(&user));
    x.record.reach(Milestone::Authenticated);
    Ok(user)
}
