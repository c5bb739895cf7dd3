//! Unsafe deletion of an object that cannot be read
//! (`ignoreStoreReadErrorWithClusterBreakingPotential`, KEP-3926).
//!
//! Behind the gate `AllowUnsafeMalformedObjectDeletion`. Whatever the object was (its finalizers,
//! its dependents) cannot be known, so nothing of it is honoured; therefore it needs a permission
//! of its own, and an object that can be read is refused.

use http::Response;
use quorate_meta::Status;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::origin::origin_of;
use crate::respond;
use quorate_access::authorization::Action;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// The verb that is needed besides `delete`.
const VERB: &str = "unsafe-delete-ignore-read-errors";

/// Removes the object if it cannot be read.
pub(super) async fn handle(
    api: &Api,
    request: &Request<'_>,
    target: Target<'_>,
) -> Result<Response<Body>, Error> {
    let mut action = Action::of(request.info);
    if let Action::Resource(action) = &mut action {
        action.verb = VERB;
    }
    api.authorizer.check(request.user, &action).await?;
    api.writer().from_origin(origin_of(request)).delete_unreadable(target).await?;
    let status = Status::deleted(&target.resource.group_resource(), target.name, "");
    Ok(respond::status(&request.format, &status))
}
