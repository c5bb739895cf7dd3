//! The kinds of the resource group: devices, and claims to them. The schema says most of what they must have.

mod attributes;
mod claim_status;
mod deviceclass;
mod names;
mod placement;
mod requests;
mod resourceclaim;
mod resourceslice;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "DeviceClass" => Arc::new(deviceclass::DeviceClass),
        "ResourceClaim" => Arc::new(resourceclaim::ResourceClaim),
        "ResourceClaimTemplate" => Arc::new(resourceclaim::ResourceClaimTemplate),
        "ResourceSlice" => Arc::new(resourceslice::ResourceSlice),
        _ => return None,
    })
}
