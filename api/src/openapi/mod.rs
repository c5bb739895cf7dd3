//! The OpenAPI documents of versions 2 and 3, each made when a request first asks for it and kept.
//!
//! Invariants: a document is made once, however many requests ask at the same time, and again only
//! when the catalogue has changed what it describes; a change of one definition makes none of the
//! others again. Which documents there are depends on the catalogue alone, so that asking for
//! others leaves nothing behind. Nothing is kept of a definition before a request asks for it, of
//! documents about single group versions of definitions only so much (`kept.rs`), and that about
//! all of them only while it is asked for (`kept_whole.rs`). Not here: how
//! they are asked for, which is the handler's part.

mod builtin;
mod custom;
mod documents;
mod kept;
mod kept_whole;
#[cfg(test)]
mod tests;
mod whole;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use quorate_env::blocking;
use quorate_meta::{Map, Value, well_known};
use quorate_wire::protobuf;
use tokio::sync::OnceCell;

use crate::respond;
use builtin::Builtin;
use custom::CustomPart;
pub(crate) use documents::Served;
use kept::KeptDocuments;
use kept_whole::KeptWhole;
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, PerEpoch, Resource};
use whole::{WholeDocument, WholeId};

/// The media types of a document of version 2 in protobuf, under the name that clients know and
/// under the one of the profile `svc`: each time today's and the one that old clients ask for.
pub(crate) const PROTOBUF_V2: [[&str; 2]; 2] = [
    [
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    ],
    [
        "application/com.svc.proto-openapi.spec.v2.v1.0+protobuf",
        "application/com.svc.proto-openapi.spec.v2@v1.0+protobuf",
    ],
];
/// The same of version 3.
pub(crate) const PROTOBUF_V3: [[&str; 2]; 2] = [
    [
        "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
        "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
    ],
    [
        "application/com.svc.proto-openapi.spec.v3.v1.0+protobuf",
        "application/com.svc.proto-openapi.spec.v3@v1.0+protobuf",
    ],
];
/// The path of the index, and above all documents of version 3.
pub(crate) const ROOT: &str = "/openapi/v3";

/// The documents of the newest catalogue.
#[derive(Default)]
pub(crate) struct OpenApi {
    documents: PerEpoch<DocumentSet>,
    /// The newest documents of version 2, in JSON and in protobuf: the next ones are made of their
    /// pieces.
    whole: [Arc<KeptWhole>; 2],
    kept: KeptDocuments,
}

/// The documents of one catalogue.
pub(crate) struct DocumentSet {
    /// What they describe.
    catalogue: Catalogue,
    builtin: Arc<Builtin>,
    /// Those about custom resources, by their path.
    custom: OrdMap<String, Arc<CustomPart>>,
    /// The index of version 3.
    index: OnceCell<Document>,
    /// Which document of version 2 describes the same.
    whole: Arc<WholeId>,
}

/// A document in each of its forms, made when a request first asks for it.
#[derive(Default)]
struct Forms {
    json: OnceCell<Arc<Document>>,
    protobuf: OnceCell<Arc<Document>>,
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
    /// Whether the documents of any catalogue are there.
    pub(crate) fn is_made(&self) -> bool {
        self.documents.is_made()
    }

    /// The documents of a catalogue.
    pub(crate) fn of(&self, catalogue: &Catalogue) -> Arc<DocumentSet> {
        self.documents.get(catalogue, |before| DocumentSet::new(catalogue, before))
    }

    /// The document of version 2 of a set.
    pub(crate) async fn whole(
        &self,
        set: &DocumentSet,
        served: Served<'_>,
        in_protobuf: bool,
    ) -> Arc<WholeDocument> {
        self.whole[usize::from(in_protobuf)].get(set, served, in_protobuf).await
    }
}

impl OpenApi {
    /// One document of version 3 of a set, for example `apis/apps/v1`; 404 if there is none of this
    /// path.
    pub(crate) async fn part(
        &self,
        set: &DocumentSet,
        served: Served<'_>,
        path: &str,
        in_protobuf: bool,
    ) -> Result<Arc<Document>, Error> {
        let Some(part) = set.custom.get(path) else {
            return set.builtin_part(served, path, in_protobuf).await;
        };
        let mut is_new = false;
        let make = || {
            is_new = true;
            let (tree, etag) = part.content(served, &set.builtin);
            Ok((tree, Some(etag)))
        };
        let document = part.forms().get(in_protobuf, make).await?;
        if is_new {
            self.kept.add(part, document.body.len());
        }
        Ok(document)
    }
}

impl DocumentSet {
    /// The documents of a catalogue, of which those are kept that describe the same as before.
    fn new(catalogue: &Catalogue, before: Option<&Self>) -> Self {
        let before = before.filter(|before| catalogue.has_builtin_of(&before.catalogue));
        let builtin = before.map(|before| before.builtin.clone());
        let builtin = builtin.unwrap_or_else(|| Arc::new(Builtin::new(catalogue)));
        let mut custom = before.map(|before| before.custom.clone()).unwrap_or_default();
        let changed = catalogue.changed_versions(before.map(|before| &before.catalogue));
        let whole = before.filter(|_| changed.is_empty());
        let whole = whole.map_or_else(Arc::default, |before| before.whole.clone());
        for (group, version) in changed {
            let path = format!("apis/{group}/{version}");
            // Paths of built-in versions are not left to definitions.
            if builtin.parts.contains_key(&path) {
                continue;
            }
            let part = CustomPart::new(catalogue.version(group, version).cloned().collect());
            match part.resources().is_empty() {
                true => custom.remove(&path),
                false => custom.insert(path, Arc::new(part)),
            };
        }
        Self { catalogue: catalogue.clone(), builtin, custom, index: OnceCell::new(), whole }
    }

    /// The index of the documents of version 3.
    pub(crate) async fn index(&self, served: Served<'_>) -> Result<&Document, Error> {
        let mut paths = Map::new();
        for path in self.builtin.parts.keys() {
            let url = url(path, &self.hash(served, path).await?);
            paths.insert(path.as_str(), Value::from([("serverRelativeURL", url)]));
        }
        once(&self.index, || {
            let documents = served.documents();
            let custom = self.custom.iter().map(|(path, part)| {
                let url = url(path, part.etag(&documents, &self.builtin));
                (path.as_str(), Value::from([("serverRelativeURL", url)]))
            });
            paths.add_missing(custom.collect());
            let body = respond::json(&Value::from([("paths", paths)]));
            Ok(Document { etag: respond::etag(&body), body, media: well_known::MEDIA_JSON })
        })
        .await
    }

    /// The ETag of the document of version 3 with this path, in JSON; 404 if there is none.
    pub(crate) async fn hash(&self, served: Served<'_>, path: &str) -> Result<String, Error> {
        match self.custom.get(path) {
            Some(part) => Ok(blocking(|| part.etag(&served.documents(), &self.builtin).to_owned())),
            None => Ok(self.builtin_part(served, path, false).await?.etag.clone()),
        }
    }

    async fn builtin_part(
        &self,
        served: Served<'_>,
        path: &str,
        in_protobuf: bool,
    ) -> Result<Arc<Document>, Error> {
        let forms = self.builtin.parts.get(path).ok_or_else(Error::no_such_path)?;
        let make = || {
            let tree = served.documents().part(path);
            tree.map(|tree| (tree, None)).ok_or_else(Error::no_such_path)
        };
        forms.get(in_protobuf, make).await
    }

    /// Every custom resource that is described, in the order of the documents.
    fn custom_resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.custom.values().flat_map(|part| part.resources())
    }
}

/// The URL of a document of version 3, which carries its ETag.
pub(crate) fn url(path: &str, etag: &str) -> String {
    format!("{ROOT}/{path}?hash={}", etag.trim_matches('"'))
}

impl Forms {
    /// One form of the document of version 3 that `make` makes, with its ETag in JSON if that is
    /// not made of its text.
    async fn get(
        &self,
        in_protobuf: bool,
        make: impl FnOnce() -> Result<(Value, Option<String>), Error>,
    ) -> Result<Arc<Document>, Error> {
        if in_protobuf {
            let make = || {
                let body: Bytes = protobuf::openapi_v3(&make()?.0).into();
                let etag = respond::etag(&body);
                Ok(Arc::new(Document { etag, body, media: PROTOBUF_V3[0][0] }))
            };
            return once(&self.protobuf, make).await.cloned();
        }
        let make = || {
            let (tree, etag) = make()?;
            let body = respond::json(&tree);
            let etag = etag.unwrap_or_else(|| respond::etag(&body));
            Ok(Arc::new(Document { etag, body, media: well_known::MEDIA_JSON }))
        };
        once(&self.json, make).await.cloned()
    }
}

/// The content of a cell. The first request makes it, which takes long; others wait for that
/// without holding a thread. When making it fails, the next one tries.
async fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    cell.get_or_try_init(move || async move { blocking(make) }).await
}
