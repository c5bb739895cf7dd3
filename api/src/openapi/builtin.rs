//! The documents of version 3 about what is built in.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use quorate_registry::{Catalogue, Resource};
use quorate_schema::openapi::{CustomDocuments, Documents};

use super::{Forms, Served};
use crate::respond;

/// All of them.
pub(super) struct Builtin {
    resources: Vec<Arc<Resource>>,
    /// By their path.
    pub(super) parts: BTreeMap<String, Forms>,
    /// The ETag of the definitions that documents about custom resources share.
    shared: OnceLock<String>,
}

impl Builtin {
    pub(super) fn new(catalogue: &Catalogue) -> Self {
        let paths = Served { catalogue, with_cbor: false }.documents().paths();
        let parts = paths.into_iter().map(|path| (path, Forms::default())).collect();
        let resources = resources(catalogue).cloned().collect();
        Self { resources, parts, shared: OnceLock::new() }
    }

    pub(super) fn describes(&self, catalogue: &Catalogue) -> bool {
        let mut others = resources(catalogue);
        self.resources.iter().all(|own| others.next().is_some_and(|other| Arc::ptr_eq(own, other)))
            && others.next().is_none()
    }

    /// The ETag of what documents about custom resources share.
    pub(super) fn shared(&self, documents: &Documents<'_>) -> &str {
        self.shared.get_or_init(|| {
            respond::etag(&respond::json(&CustomDocuments::new(documents).shared()))
        })
    }
}

fn resources(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<Resource>> {
    catalogue.iter().filter(|resource| !resource.is_custom())
}
