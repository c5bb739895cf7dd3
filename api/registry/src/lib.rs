//! The resource registry: the catalogue of served resources, the keyspace, the stored form, the
//! strategies of kinds, and the write pipeline.
//!
//! Invariant: a further kind needs an entry in the schema and one strategy file in `quorate-kinds`;
//! nothing here names a kind.
//!
//! Not here: the kinds themselves, authorization, and the admission plugins.

pub mod allocation;
pub mod catalogue;
pub mod conversion;
pub mod derived;
pub mod error;
pub mod features;
pub mod freshness;
pub mod keys;
mod options;
mod origin;
pub mod ownership;
pub mod patch;
pub mod release;
mod removal;
pub mod runtime_config;
pub mod scale;
pub mod selector;
pub mod stored_codec;
pub mod suspension;
pub mod topology;
pub mod write;

mod admission;
mod author;
mod gated_fields;
mod permission;
mod resource;
pub mod strategy;

pub use admission::{Admission, AdmissionOperation, Attributes, BodyType, Terms};
pub use author::{AdmissionWait, Author, Notes};
pub use catalogue::{Catalogue, CurrentCatalogue, PerEpoch};
pub use conversion::{Conversion, RemoteConversion, StoredForm, VersionReader};
pub use error::Error;
pub use gated_fields::GatedFields;
pub use origin::{Origin, OriginHead, OriginUser, RequestOrigin, WriteOrigin};
pub use permission::{AccessCheck, AccessDecision, AccessTarget, Grant, Permission, UserInfo};
pub use removal::Removal;
pub use resource::{
    Deprecation, HeldGraph, LiveMarker, ObjectTypes, Resource, Subresource, TypeSource,
};
pub use strategy::{
    FOREGROUND, Findings, NameRule, ORPHAN, Part, PrinterColumn, Propagation, ScalePaths, Step,
    Strategy,
};

/// Neutral group of CustomResourceDefinitions.
pub const EXTENSIONS: &str = "apiextensions";
/// Plural name of CustomResourceDefinitions, which all custom resources depend on.
pub const DEFINITIONS: &str = "customresourcedefinitions";
/// Plural name of Namespaces, which all namespaced resources depend on.
pub const NAMESPACES: &str = "namespaces";
