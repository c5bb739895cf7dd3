//! The documents of version 3 about what is built in.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use quorate_registry::Catalogue;
use quorate_schema::openapi::{CustomDocuments, Documents};

use super::{Forms, Served};
use crate::respond;

/// All of them.
pub(super) struct Builtin {
    /// By their path.
    pub(super) parts: BTreeMap<String, Forms>,
    /// The ETag of the definitions that documents about custom resources share.
    shared: OnceLock<String>,
}

impl Builtin {
    pub(super) fn new(catalogue: &Catalogue) -> Self {
        let paths = Served { catalogue, with_cbor: false }.documents().paths();
        let parts = paths.into_iter().map(|path| (path, Forms::default())).collect();
        Self { parts, shared: OnceLock::new() }
    }

    /// The ETag of what documents about custom resources share.
    pub(super) fn shared(&self, documents: &Documents<'_>) -> &str {
        self.shared.get_or_init(|| {
            respond::etag(&respond::json(&CustomDocuments::new(documents).shared()))
        })
    }
}
