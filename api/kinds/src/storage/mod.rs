//! The kinds of the API group `storage`.
//!
//! Volumes are provisioned and attached by drivers and their controllers.

mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod storage_class;
mod volume_attachment;
mod volume_attributes_class;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CSIDriver" => Arc::new(csi_driver::CsiDriver),
        "CSINode" => Arc::new(csi_node::CsiNode),
        "CSIStorageCapacity" => Arc::new(csi_storage_capacity::CsiStorageCapacity),
        "StorageClass" => Arc::new(storage_class::StorageClass),
        "VolumeAttachment" => Arc::new(volume_attachment::VolumeAttachment),
        "VolumeAttributesClass" => Arc::new(volume_attributes_class::VolumeAttributesClass),
        _ => return None,
    })
}
