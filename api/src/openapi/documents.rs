//! The content of the OpenAPI documents: what the schema crate makes of the resources that are
//! served.

use quorate_meta::{GroupVersionKind, Value};
use quorate_schema::openapi::{self, Documents};

use quorate_registry::Catalogue;

/// The release that documents name.
const RELEASE: &str = "v1.35.0";

/// What documents describe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served<'a> {
    pub(crate) catalogue: &'a Catalogue,
    /// Whether bodies may be in CBOR.
    pub(crate) with_cbor: bool,
}

impl Served<'_> {
    /// The paths of all documents of version 3.
    pub(super) fn parts(self) -> Vec<String> {
        self.documents().paths()
    }

    /// One document of version 3.
    pub(super) fn part(self, path: &str) -> Option<Value> {
        self.documents().part(path)
    }

    /// The document of version 2.
    pub(super) fn whole(self) -> Value {
        self.documents().whole()
    }

    fn documents(&self) -> Documents<'_> {
        let served = self.catalogue.iter().filter_map(|resource| {
            let kind = GroupVersionKind::new(&*resource.group, &*resource.version, &*resource.kind);
            let subresources =
                resource.subresources.iter().map(|subresource| subresource.name.as_str()).collect();
            Some(openapi::Served { kind: self.catalogue.graph().kind(&kind)?, subresources })
        });
        Documents::new(self.catalogue.graph(), served.collect(), RELEASE).with_cbor(self.with_cbor)
    }
}
