//! Refusals that several writes share, each with its HTTP status code.

use quorate_meta::{Cause, Status, quoted};

use crate::Resource;
use crate::error::Error;
use crate::options::Target;

/// Seconds in `Retry-After` when the quotas of a write are contended.
const RETRY_AFTER_SECONDS: u32 = 1;

/// 422 for an object.
pub(super) fn invalid(resource: &Resource, name: &str, causes: Vec<Cause>) -> Error {
    Status::invalid(&resource.group_kind(), name, causes).into()
}

/// 409 for a write based on an old state.
pub(super) fn stale(target: Target<'_>) -> Error {
    Status::stale(&target.resource.group_resource(), target.name).into()
}

/// 429 for a write whose terms of admission changed at each attempt; nothing was written.
pub(super) fn quota_contended(target: Target<'_>) -> Error {
    let (resource, name) = (target.resource.qualified(), quoted(target.name));
    let why = "too many others are charged to the same quotas at this time, please try again";
    Status::too_many_requests(
        format!("{resource} {name} was not written: {why}"),
        RETRY_AFTER_SECONDS,
    )
    .into()
}

/// 404 for the object.
pub(super) fn not_found(target: Target<'_>) -> Error {
    Status::not_found(&target.resource.group_resource(), target.name).into()
}
