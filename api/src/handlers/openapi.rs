//! `/openapi/v3` and `/openapi/v2`: the schema of what is served, for clients that explain, validate or generate.
//!
//! Invariants: documents are made once per process and kept; a document's URL carries its hash, under which it never
//! changes and may be kept by clients for ever; the hash is that of the form in JSON, whichever is asked for. The index is
//! JSON whatever is asked for; documents are there in protobuf as well, in which kubectl insists on the one of version 2.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::{Response, StatusCode};
use parking_lot::Mutex;
use quorate_meta::{Map, Value, well_known};
use quorate_wire::protobuf;

use super::openapi_documents as documents;
use crate::Api;
use crate::body::Body;
use crate::error::Error;
use crate::negotiation;
use crate::request::Request;
use crate::respond;

const ROOT: &str = "/openapi/v3";
/// What the protobuf form of each version is, and how clients asked for it at first.
const PROTOBUF_V2: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];
const PROTOBUF_V3: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
];

/// A page of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Page {
    /// Which documents there are, and their URLs.
    Index,
    /// One document of version 3, for example `apis/apps/v1`.
    Part(String),
    /// Everything in one document of version 2.
    Whole,
}

impl Page {
    /// The page of a path without a trailing slash.
    pub(crate) fn find(path: &str) -> Option<Self> {
        match path {
            ROOT => Some(Self::Index),
            "/openapi/v2" => Some(Self::Whole),
            _ => {
                let part = path.strip_prefix(ROOT)?.strip_prefix('/')?;
                (!part.is_empty()).then(|| Self::Part(part.to_owned()))
            }
        }
    }
}

/// The documents made so far, by their path and whether they are in protobuf; the one of version 2 has the empty path.
#[derive(Default)]
pub(crate) struct OpenApi {
    made: Mutex<BTreeMap<(String, bool), Arc<Document>>>,
}

/// A document as it is sent.
struct Document {
    body: Bytes,
    media: &'static str,
    /// Quoted.
    etag: String,
}

impl fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.made.lock().keys()).finish()
    }
}

impl OpenApi {
    fn document(&self, api: &Api, path: &str, in_protobuf: bool) -> Option<Arc<Document>> {
        let key = (path.to_owned(), in_protobuf);
        if let Some(document) = self.made.lock().get(&key) {
            return Some(document.clone());
        }
        let (body, media) = match path {
            "" if in_protobuf => (protobuf::openapi_v2(&documents::whole(api)).into(), PROTOBUF_V2[0]),
            "" => (respond::json(&documents::whole(api)), well_known::MEDIA_JSON),
            path if in_protobuf => (protobuf::openapi_v3(&documents::part(api, path)?).into(), PROTOBUF_V3[0]),
            path => (respond::json(&documents::part(api, path)?), well_known::MEDIA_JSON),
        };
        let document = Arc::new(Document { etag: respond::etag(&body), body, media });
        self.made.lock().insert(key, document.clone());
        Some(document)
    }
}

pub(crate) fn handle(api: &Api, request: &Request, page: &Page) -> Result<Response<Body>, Error> {
    let (protobuf, path) = match page {
        Page::Index => return index(api, request),
        Page::Part(path) => (PROTOBUF_V3, Some(path)),
        Page::Whole => (PROTOBUF_V2, None),
    };
    let Some(in_protobuf) = asks_protobuf(request, protobuf) else { return Ok(plain(StatusCode::NOT_ACCEPTABLE)) };
    match path {
        Some(path) => part(api, request, path, in_protobuf),
        None => send(api, request, &*api.openapi.document(api, "", in_protobuf).ok_or_else(Error::no_such_path)?),
    }
}

/// Whether a document shall be in protobuf and not in JSON; `None` when neither will do.
fn asks_protobuf(request: &Request, protobuf: [&str; 2]) -> Option<bool> {
    let accept = request.header("accept").unwrap_or_default();
    let json = |media: &str| matches!(media, "*/*" | "application/*" | well_known::MEDIA_JSON);
    let asked = negotiation::clauses(accept).into_iter().find_map(|clause| {
        let in_protobuf = protobuf.contains(&&*clause.media);
        (in_protobuf || json(&clause.media)).then_some(in_protobuf)
    });
    asked.or(accept.is_empty().then_some(false))
}

fn index(api: &Api, request: &Request) -> Result<Response<Body>, Error> {
    let mut paths = Map::new();
    for path in documents::parts(api) {
        let Some(document) = api.openapi.document(api, &path, false) else { continue };
        let url = url(&path, &document);
        paths.insert(path, Value::Map(Map::from([("serverRelativeURL", Value::from(url))])));
    }
    let body = respond::json(&Value::Map(Map::from([("paths", Value::Map(paths))])));
    send(api, request, &Document { etag: respond::etag(&body), body, media: well_known::MEDIA_JSON })
}

fn part(api: &Api, request: &Request, path: &str, in_protobuf: bool) -> Result<Response<Body>, Error> {
    let document = |in_protobuf| api.openapi.document(api, path, in_protobuf).ok_or_else(Error::no_such_path);
    let in_json = document(false)?;
    let hash = request.info.query.text("hash");
    if !hash.is_empty() && hash != in_json.etag.trim_matches('"') {
        let mut response = plain(StatusCode::MOVED_PERMANENTLY);
        response.headers_mut().insert(LOCATION, respond::header(&url(path, &in_json))?);
        return Ok(response);
    }
    let document = if in_protobuf { document(true)? } else { in_json };
    let mut response = send(api, request, &document)?;
    if !hash.is_empty() {
        let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
}

fn url(path: &str, document: &Document) -> String {
    format!("{ROOT}/{path}?hash={}", document.etag.trim_matches('"'))
}

fn send(api: &Api, request: &Request, document: &Document) -> Result<Response<Body>, Error> {
    let Document { body, media, etag } = document;
    let same = respond::is_known(request.header(IF_NONE_MATCH.as_str()), etag);
    let mut response = Response::new(if same { Body::empty() } else { Body::full(body.clone()) });
    *response.status_mut() = if same { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let headers = response.headers_mut();
    headers.insert(ETAG, respond::header(etag)?);
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(super::gzip::maybe(api, request, response))
}

fn plain(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
