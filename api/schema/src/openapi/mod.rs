//! OpenAPI documents of the served resources: one of OpenAPI 3.0 per group version, one of Swagger
//! 2.0 for all.
//!
//! Definition names and extensions are those of the naming profile. In the `svc` profile extensions
//! also have the names that clients hard-code (`x-kubernetes-...`), because kubectl finds kinds and
//! patch strategies by them. Invariant: a document defines every type that it refers to.
//!
//! Custom resources are described by the schema of their definition, whose documents and parts of
//! the document for all can be made one by one.
//!
//! Not here: serving, hashing and caching.

mod connections;
mod custom;
mod definitions;
mod documents;
mod naming;
mod operation;
mod pages;
mod parameters;
mod path_kind;
mod paths;

#[cfg(test)]
mod tests;

pub use custom::{CustomDocuments, CustomParts, CustomResource, CustomSubresource};
pub use documents::{Documents, Served};

use crate::graph::Graph;

/// The version of OpenAPI that a part is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Swagger 2.0: one document for everything.
    V2,
    /// OpenAPI 3.0: one document per group version.
    V3,
}

/// The options of a document.
#[derive(Clone, Copy, Debug)]
struct Style<'g> {
    graph: &'g Graph,
    dialect: Dialect,
    /// Whether CBOR is among the media types.
    cbor: bool,
}

impl Dialect {
    /// The reference to a definition.
    fn reference(self, definition: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{definition}"),
            Self::V3 => format!("#/components/schemas/{definition}"),
        }
    }
}
