//! The refusal of a form that does not suit the answer: that of an object for a list, or of a list for
//! an object.

use quorate_meta::{Reason, Status};
use quorate_registry::Resource;
use quorate_registry::error::Error;

/// The 406 of a list, or of a single object.
pub(super) fn wrong_shape(resource: &Resource, list: bool) -> Error {
    let package =
        resource.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
    let message = if list {
        let kind = &resource.list_kind;
        format!(
            "you requested PartialObjectMetadata, but the requested object is a list (*{package}.{kind})"
        )
    } else {
        let kind = &resource.kind;
        format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list (*{package}.{kind})"
        )
    };
    Status::failure(Reason::NotAcceptable, message).into()
}
