//! The document of version 3 about the custom resources of one group version.
//!
//! Invariant: its ETag depends on what it says. It is made of what is said of these resources
//! alone, so that the index, which has the ETags of all, keeps no document.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use quorate_meta::Value;
use quorate_registry::Resource;
use quorate_schema::openapi::{Dialect, Documents};
use sha2::{Digest, Sha256};

use super::builtin::Builtin;
use super::documents::{custom_part, custom_parts};
use super::{Forms, Served};
use crate::respond;

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
            text.update(builtin.shared(documents));
            for resource in &self.resources {
                let parts = custom_parts(documents, resource, Dialect::V3);
                for part in [parts.paths, parts.definitions] {
                    text.update(respond::json(&Value::Map(part)));
                }
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
