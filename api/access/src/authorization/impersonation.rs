//! User impersonation: whether the original user may act as the user whom `Impersonate-*` headers
//! name.
//!
//! Invariants: each part of the impersonated user (name, group, uid, extra field) takes the verb
//! `impersonate` on a resource of its own. The permission is decided by rules that are as new as
//! the request itself needs; a request that goes on to a newer state asks here again.

use futures::future::join_all;
use http::HeaderMap;

use super::{Action, Authorizer, ResourceAction};
use crate::authentication::{ImpersonatedPart, User, requested_impersonation};
use quorate_registry::error::Error;

/// The user whom the headers of a request name, if they name one; `request` is what the original
/// user wants to do that way.
///
/// # Errors
/// 400 for headers that cannot be honoured, 403 when the original user may not impersonate that
/// user, 503 when it cannot be decided just now.
pub async fn impersonate(
    authorizer: &Authorizer,
    original_user: &User,
    headers: &HeaderMap,
    request: &Action<'_>,
) -> Result<Option<User>, Error> {
    let Some(impersonation) = requested_impersonation(authorizer.names, headers)? else {
        return Ok(None);
    };
    // All at once: where no quorum answers, each of them takes its time.
    let checks =
        impersonation.parts.iter().map(|part| check_part(authorizer, original_user, part, request));
    join_all(checks).await.into_iter().collect::<Result<(), Error>>()?;
    Ok(Some(impersonation.user))
}

async fn check_part(
    authorizer: &Authorizer,
    original_user: &User,
    part: &ImpersonatedPart,
    request: &Action<'_>,
) -> Result<(), Error> {
    let group = if part.of_authentication {
        authorizer.names.group("authentication")
    } else {
        String::new()
    };
    let on = ResourceAction {
        verb: "impersonate",
        group: &group,
        version: "v1",
        resource: part.resource,
        subresource: &part.subresource,
        namespace: &part.namespace,
        name: part.name.as_str().into(),
        ..ResourceAction::default()
    };
    authorizer.check_for(request, original_user, &Action::Resource(on)).await
}
