//! The OpenAPI documents of versions 2 and 3, each made once and kept.
//!
//! Invariants: a document is made once per process, however many requests ask at the same time;
//! which documents there are is fixed, so that asking for others leaves nothing behind. Not here:
//! how they are asked for, which is the handler's part.

mod documents;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use quorate_env::blocking;
use quorate_meta::well_known;
use quorate_wire::protobuf;
use tokio::sync::OnceCell;

use crate::respond;
pub(crate) use documents::Served;
use quorate_registry::error::Error;

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

/// The documents.
#[derive(Default)]
pub(crate) struct OpenApi {
    /// The one of version 2.
    whole: Forms,
    /// Those of version 3 by their path.
    parts: OnceLock<BTreeMap<String, Forms>>,
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
    /// The paths of all documents of version 3.
    pub(crate) fn paths(&self, served: Served<'_>) -> impl Iterator<Item = &str> {
        self.parts(served).keys().map(String::as_str)
    }

    /// One document of version 3, for example `apis/apps/v1`; 404 if there is none of this path.
    pub(crate) async fn part(&self, served: Served<'_>, path: &str, in_protobuf: bool) -> Result<&Document, Error> {
        let forms = self.parts(served).get(path).ok_or_else(Error::no_such_path)?;
        forms.get(served, Some(path), in_protobuf).await
    }

    /// The document of version 2.
    pub(crate) async fn whole(&self, served: Served<'_>, in_protobuf: bool) -> Result<&Document, Error> {
        self.whole.get(served, None, in_protobuf).await
    }

    fn parts(&self, served: Served<'_>) -> &BTreeMap<String, Forms> {
        self.parts.get_or_init(|| served.parts().into_iter().map(|path| (path, Forms::default())).collect())
    }
}

impl Forms {
    /// One form of the document with this path; the document of version 2 has none.
    async fn get(&self, served: Served<'_>, path: Option<&str>, in_protobuf: bool) -> Result<&Document, Error> {
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
