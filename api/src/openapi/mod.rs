//! The OpenAPI documents of versions 2 and 3, each made when a request first asks for it and kept.
//!
//! Invariants: a document is made once, however many requests ask at the same time, and again only
//! when the catalogue has changed what it describes; which documents there are depends on the
//! catalogue alone, so that asking for others leaves nothing behind. Not here: how they are asked
//! for, which is the handler's part.

mod documents;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use quorate_env::blocking;
use quorate_meta::well_known;
use quorate_wire::protobuf;
use tokio::sync::OnceCell;

use crate::respond;
pub(crate) use documents::Served;
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, PerEpoch, Resource};

/// The media types of a document of version 2 in protobuf: today's and the one that old clients ask
/// for.
pub(crate) const PROTOBUF_V2: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];
/// The same of version 3.
pub(crate) const PROTOBUF_V3: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
];

/// The documents of the newest catalogue.
#[derive(Default)]
pub(crate) struct OpenApi {
    documents: PerEpoch<DocumentSet>,
}

/// The documents of one catalogue.
pub(crate) struct DocumentSet {
    /// Every group version: some definitions name them all.
    group_versions: Vec<(String, String)>,
    /// The one of version 2.
    whole: Arc<Forms>,
    /// Those of version 3 by their path.
    parts: BTreeMap<String, Part>,
}

/// A document of version 3 and what it describes.
struct Part {
    resources: Vec<Arc<Resource>>,
    forms: Arc<Forms>,
}

/// A document in each of its forms, made when a request first asks for it.
#[derive(Default)]
struct Forms {
    json: OnceCell<Document>,
    protobuf: OnceCell<Document>,
}

/// A document as it is sent.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) body: Bytes,
    /// Its media type.
    pub(crate) media: &'static str,
    /// Quoted.
    pub(crate) etag: String,
}

impl fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApi").finish_non_exhaustive()
    }
}

impl OpenApi {
    /// The documents of a catalogue.
    pub(crate) fn of(&self, catalogue: &Catalogue) -> Arc<DocumentSet> {
        self.documents.get(catalogue, |before| DocumentSet::new(catalogue, before))
    }
}

impl DocumentSet {
    /// The documents of a catalogue, of which those are kept that describe the same as before.
    fn new(catalogue: &Catalogue, before: Option<&Self>) -> Self {
        let owned = |(group, version): (&str, &str)| (group.to_owned(), version.to_owned());
        let group_versions: Vec<_> = catalogue.group_versions().into_iter().map(owned).collect();
        let before = before.filter(|before| before.group_versions == group_versions);
        let mut parts = BTreeMap::new();
        for path in (Served { catalogue, with_cbor: false }).parts() {
            let resources: Vec<_> = resources_of(catalogue, &path).cloned().collect();
            let kept = before
                .and_then(|before| before.parts.get(&path))
                .filter(|part| part.describes(&resources));
            let forms = kept.map_or_else(Arc::default, |part| part.forms.clone());
            parts.insert(path, Part { resources, forms });
        }
        let same = |before: &&Self| {
            before.parts.len() == parts.len()
                && parts.iter().all(|(path, part)| {
                    before
                        .parts
                        .get(path)
                        .is_some_and(|before| Arc::ptr_eq(&before.forms, &part.forms))
                })
        };
        let whole = before.filter(same).map_or_else(Arc::default, |before| before.whole.clone());
        Self { group_versions, whole, parts }
    }

    /// The paths of all documents of version 3.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    /// One document of version 3, for example `apis/apps/v1`; 404 if there is none of this path.
    pub(crate) async fn part(
        &self,
        served: Served<'_>,
        path: &str,
        in_protobuf: bool,
    ) -> Result<&Document, Error> {
        let part = self.parts.get(path).ok_or_else(Error::no_such_path)?;
        part.forms.get(served, Some(path), in_protobuf).await
    }

    /// The document of version 2.
    pub(crate) async fn whole(
        &self,
        served: Served<'_>,
        in_protobuf: bool,
    ) -> Result<&Document, Error> {
        self.whole.get(served, None, in_protobuf).await
    }
}

impl Part {
    fn describes(&self, resources: &[Arc<Resource>]) -> bool {
        self.resources.len() == resources.len()
            && self.resources.iter().zip(resources).all(|(own, other)| Arc::ptr_eq(own, other))
    }
}

/// The resources that the document with this path describes; none for a path of another kind.
fn resources_of<'a>(
    catalogue: &'a Catalogue,
    path: &str,
) -> impl Iterator<Item = &'a Arc<Resource>> {
    let (group, version) = match path.split('/').collect::<Vec<_>>()[..] {
        ["api", version] => ("", version),
        ["apis", group, version] => (group, version),
        _ => ("", ""),
    };
    catalogue.iter().filter(move |resource| resource.group == group && resource.version == version)
}

impl Forms {
    /// One form of the document with this path; the document of version 2 has none.
    async fn get(
        &self,
        served: Served<'_>,
        path: Option<&str>,
        in_protobuf: bool,
    ) -> Result<&Document, Error> {
        let cell = if in_protobuf { &self.protobuf } else { &self.json };
        once(cell, || make(served, path, in_protobuf)).await
    }
}

/// The content of a cell. The first request makes it, which takes long; others wait for that
/// without holding a thread. When making it fails, the next one tries.
async fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    cell.get_or_try_init(move || async move { blocking(make) }).await
}

fn make(served: Served<'_>, path: Option<&str>, in_protobuf: bool) -> Result<Document, Error> {
    let tree = match path {
        Some(path) => served.part(path).ok_or_else(Error::no_such_path)?,
        None => served.whole(),
    };
    let (body, media) = match path {
        _ if !in_protobuf => (respond::json(&tree), well_known::MEDIA_JSON),
        Some(_) => (protobuf::openapi_v3(&tree).into(), PROTOBUF_V3[0]),
        None => (protobuf::openapi_v2(&tree).into(), PROTOBUF_V2[0]),
    };
    Ok(Document { etag: respond::etag(&body), body, media })
}
