//! The document of version 3 about the custom resources of one group version.
//!
//! Invariant: its ETag depends on all that the document is made of: the resources, what documents
//! share, and the program that makes it. So the index, which has the ETags of all, makes no
//! document.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quorate_meta::Value;
use quorate_registry::Resource;
use quorate_schema::openapi::Documents;
use sha2::{Digest, Sha256};

use super::builtin::Builtin;
use super::documents::{custom_part, described};
use super::{Forms, Served};
use crate::respond;

/// What makes the documents: another version may say the same in other words.
const MAKER: &str = concat!("quorate ", env!("CARGO_PKG_VERSION"));

/// One document.
pub(super) struct CustomPart {
    resources: Vec<Arc<Resource>>,
    etag: OnceLock<String>,
    forms: Mutex<Arc<Forms>>,
}

impl CustomPart {
    pub(super) fn new(resources: Vec<Arc<Resource>>) -> Self {
        Self { resources, etag: OnceLock::new(), forms: Mutex::default() }
    }

    pub(super) fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    /// The ETag of the document in JSON.
    pub(super) fn etag(&self, documents: &Documents<'_>, builtin: &Builtin) -> &str {
        self.etag.get_or_init(|| {
            let mut text = Sha256::new();
            text.update(MAKER);
            text.update(builtin.shared(documents));
            for resource in &self.resources {
                let schema = resource.strategy.published_schema();
                // All but the schema is short, and shown in full.
                text.update(format!("{:?}", described(resource, None)));
                text.update(schema.as_deref().unwrap_or_default());
            }
            respond::etag_of(&text.finalize())
        })
    }

    /// What is kept of the document.
    pub(super) fn forms(&self) -> Arc<Forms> {
        self.forms.lock().clone()
    }

    /// Drops what is kept of the document.
    pub(super) fn forget(&self) {
        *self.forms.lock() = Arc::default();
    }

    /// The content of the document, and its ETag in JSON.
    pub(super) fn content(&self, served: Served<'_>, builtin: &Builtin) -> (Value, String) {
        let documents = served.documents();
        let etag = self.etag(&documents, builtin).to_owned();
        (custom_part(&documents, &self.resources), etag)
    }
}
