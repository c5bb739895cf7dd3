//! The kinds of the resource group (Dynamic Resource Allocation, KEP-4381).
//!
//! The schema has most structural checks; the scheduler allocates devices.

mod device_attributes;
mod device_class;
mod device_requests;
mod device_selector;
mod names;
mod node_selection;
mod resource_claim;
mod resource_claim_status;
mod resource_slice;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "DeviceClass" => Arc::new(device_class::DeviceClass::new()),
        "ResourceClaim" => Arc::new(resource_claim::ResourceClaim::new()),
        "ResourceClaimTemplate" => Arc::new(resource_claim::ResourceClaimTemplate::new()),
        "ResourceSlice" => Arc::new(resource_slice::ResourceSlice),
        _ => return None,
    })
}
