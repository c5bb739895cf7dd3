//! The impersonation filter: puts the user whom the `Impersonate-` headers name in place of the
//! authenticated one.
//!
//! Invariant: each part of the impersonated user took a permission of the authenticated one, or the
//! request ends with 403.

use std::sync::Arc;

use super::Exchange;
use quorate_access::authentication::User;
use quorate_access::authorization::{self, Action};
use quorate_registry::error::Error;

/// The user on whose behalf the request goes on.
pub(super) async fn impersonate(
    x: &mut Exchange<'_>,
    authenticated: Arc<User>,
    action: &Action<'_>,
) -> Result<Arc<User>, Error> {
    let impersonated =
        authorization::impersonate(&x.api.authorizer, &authenticated, &x.headers, action).await?;
    let Some(user) = impersonated.map(Arc::new) else {
        return Ok(authenticated);
    };
    x.record.impersonated(Arc::clone(&user));
    Ok(user)
}
