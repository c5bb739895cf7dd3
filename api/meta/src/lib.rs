//! The vocabulary of the API, which all other API crates share.
//!
//! Names of groups, labels and media types (`Names`), resource and kind identifiers, the tree of an
//! object (`Value`, `Map`), selectors, name validation, times, and the `Status` of errors.
//! Everything is pure: no IO, no clock, no randomness (callers pass time and entropy in).
//!
//! Encodings are in `quorate-wire`, types and schemas in `quorate-schema`.

pub mod flow_control;
mod group;
mod json_path;
pub mod name;
mod naming;
pub mod net;
mod quantity;
mod selector;
mod status;
mod time;
mod value;
pub mod version_order;

pub use group::{GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
pub use json_path::{InvalidJsonPath, JsonPath};
pub use naming::{Names, Naming, UnknownNaming};
pub use quantity::Quantity;
pub use selector::{
    FieldSelector, FieldTerm, LabelOperator, LabelRequirement, LabelSelector, SelectorError,
};
pub use status::{Cause, CauseReason, Details, Path, Reason, Status, quoted};
pub use time::{InvalidTime, Time};
pub use value::{Map, PathStep, SmolStr, Value};

/// Names that are the same in both naming profiles.
pub mod well_known {
    pub use crate::naming::well_known::*;
}
