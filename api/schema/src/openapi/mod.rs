//! OpenAPI documents for what is served, made from the graph: one of version 3 per group version, one of version 2 whole.
//!
//! Definition names and extensions are the profile's. In the `svc` profile extensions are written under the names that
//! clients hard-code as well (`x-kubernetes-...`), because kubectl finds kinds and patch strategies by them.
//! Invariant: a document names no type that it does not define. Serving, hashing and caching are the caller's business.

mod definitions;
mod documents;
mod naming;
mod operation;
mod pages;
mod parameters;
mod paths;

#[cfg(test)]
mod tests;

pub use documents::{Documents, Served};

use crate::graph::Graph;

/// Which version of OpenAPI a part is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// Swagger 2.0: one document for everything.
    V2,
    /// OpenAPI 3.0: one document per group version.
    V3,
}

/// How documents are written.
#[derive(Clone, Copy, Debug)]
struct Style<'g> {
    graph: &'g Graph,
    dialect: Dialect,
    /// Whether CBOR is among the formats.
    cbor: bool,
}

impl Dialect {
    /// Where definitions are found.
    fn reference(self, definition: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{definition}"),
            Self::V3 => format!("#/components/schemas/{definition}"),
        }
    }
}
