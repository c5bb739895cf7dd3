//! `/openapi/v3` and `/openapi/v2`: the schema of what is served, for clients that explain, validate or generate.
//!
//! Invariants: documents are made once per process, however many ask at the same time, and kept; a document's URL carries
//! its hash, under which it never changes and may be kept by clients for ever; the hash is that of the form in JSON,
//! whichever is asked for. The index is JSON whatever is asked for; documents are there in protobuf as well, in which
//! kubectl insists on the one of version 2.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::{Response, StatusCode};
use quorate_env::blocking;
use quorate_meta::{Map, Value, well_known};
use quorate_wire::protobuf;
use tokio::sync::OnceCell;

use super::openapi_documents as documents;
use crate::Api;
use crate::body::Body;
use crate::error::Error;
use crate::handlers::Request;
use crate::negotiation;
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

/// The documents.
#[derive(Default)]
pub(crate) struct OpenApi {
    /// The one of version 2.
    whole: Forms,
    /// Those of version 3 by their path: all that there are, so that asking for others leaves nothing behind.
    parts: OnceLock<BTreeMap<String, Forms>>,
}

/// A document in each of its forms, made when somebody first asks for it.
#[derive(Default)]
struct Forms {
    json: OnceCell<Document>,
    protobuf: OnceCell<Document>,
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
        f.debug_struct("OpenApi").finish_non_exhaustive()
    }
}

impl OpenApi {
    fn parts(&self, api: &Api) -> &BTreeMap<String, Forms> {
        self.parts.get_or_init(|| documents::parts(api).into_iter().map(|path| (path, Forms::default())).collect())
    }
}

impl Forms {
    /// One form of the document with this path; the document of version 2 has none.
    async fn get(&self, api: &Api, path: Option<&str>, in_protobuf: bool) -> Result<&Document, Error> {
        let cell = if in_protobuf { &self.protobuf } else { &self.json };
        once(cell, || make(api, path, in_protobuf)).await
    }
}

/// What a cell holds. The first who asks makes it, which takes long; others wait for that without holding a thread. When
/// nothing comes of it, the next one tries.
async fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    cell.get_or_try_init(move || async move { blocking(make) }).await
}

fn make(api: &Api, path: Option<&str>, in_protobuf: bool) -> Result<Document, Error> {
    let tree = match path {
        Some(path) => documents::part(api, path).ok_or_else(Error::no_such_path)?,
        None => documents::whole(api),
    };
    let (body, media) = match path {
        _ if !in_protobuf => (respond::json(&tree), well_known::MEDIA_JSON),
        Some(_) => (protobuf::openapi_v3(&tree).into(), PROTOBUF_V3[0]),
        None => (protobuf::openapi_v2(&tree).into(), PROTOBUF_V2[0]),
    };
    Ok(Document { etag: respond::etag(&body), body, media })
}

pub(crate) async fn handle(api: &Api, request: &Request<'_>, page: &Page) -> Result<Response<Body>, Error> {
    let (protobuf, path) = match page {
        Page::Index => return index(api, request).await,
        Page::Part(path) => (PROTOBUF_V3, Some(path)),
        Page::Whole => (PROTOBUF_V2, None),
    };
    let accept = request.header("accept").unwrap_or_default();
    let Some(in_protobuf) = asks_protobuf(accept, protobuf) else { return Ok(plain(StatusCode::NOT_ACCEPTABLE)) };
    match path {
        Some(path) => part(api, request, path, in_protobuf).await,
        None => send(api, request, api.openapi.whole.get(api, None, in_protobuf).await?),
    }
}

/// Whether an Accept header (empty when absent) asks for a document in protobuf and not in JSON; `None` when neither will
/// do. A wildcard means JSON unless the header refuses that.
fn asks_protobuf(accept: &str, protobuf: [&str; 2]) -> Option<bool> {
    if accept.trim().is_empty() {
        return Some(false);
    }
    let offered = [well_known::MEDIA_JSON, protobuf[0]];
    let clauses = negotiation::clauses(accept);
    let mut asked = clauses.iter().flat_map(|clause| negotiation::meant(clause, accept, || offered.to_vec()));
    asked.find_map(|media| match media {
        well_known::MEDIA_JSON => Some(false),
        media => protobuf.contains(&media).then_some(true),
    })
}

async fn index(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let mut paths = Map::new();
    for (path, forms) in api.openapi.parts(api) {
        let url = url(path, forms.get(api, Some(path), false).await?);
        paths.insert(path.as_str(), Value::Map(Map::from([("serverRelativeURL", Value::from(url))])));
    }
    let body = respond::json(&Value::Map(Map::from([("paths", Value::Map(paths))])));
    send(api, request, &Document { etag: respond::etag(&body), body, media: well_known::MEDIA_JSON })
}

async fn part(api: &Api, request: &Request<'_>, path: &str, in_protobuf: bool) -> Result<Response<Body>, Error> {
    let forms = api.openapi.parts(api).get(path).ok_or_else(Error::no_such_path)?;
    let in_json = forms.get(api, Some(path), false).await?;
    let hash = request.info.query.text("hash");
    if !hash.is_empty() && hash != in_json.etag.trim_matches('"') {
        let mut response = plain(StatusCode::MOVED_PERMANENTLY);
        response.headers_mut().insert(LOCATION, respond::header(&url(path, in_json))?);
        return Ok(response);
    }
    let document = if in_protobuf { forms.get(api, Some(path), true).await? } else { in_json };
    let mut response = send(api, request, document)?;
    if !hash.is_empty() {
        let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
}

fn url(path: &str, document: &Document) -> String {
    format!("{ROOT}/{path}?hash={}", document.etag.trim_matches('"'))
}

fn send(api: &Api, request: &Request<'_>, document: &Document) -> Result<Response<Body>, Error> {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn which_form_is_asked_for() {
        let [usual, first] = PROTOBUF_V2;
        let check = |accept: &str, expect: Option<bool>| {
            assert_eq!(asks_protobuf(accept, PROTOBUF_V2), expect, "{accept}");
        };
        for protobuf in [usual, first] {
            check(protobuf, Some(true));
            check(&protobuf.to_ascii_uppercase(), Some(true));
            check(&format!("{protobuf};q=0.1, application/xml"), Some(true));
            check(&format!("{protobuf}, application/json"), Some(true));
            check(&format!("application/json, {protobuf}"), Some(false));
            check(&format!("{protobuf};q=0.5, application/json;q=0.9"), Some(false));
            check(&format!("application/json;q=0.5, {protobuf};q=0.9"), Some(true));
            check(&format!("{protobuf};q=0"), None);
            check(&format!("{protobuf};q=0, application/json"), Some(false));
            check(&format!("{protobuf};q=0, */*"), Some(false));
        }
        check("", Some(false));
        check("*/*", Some(false));
        check("application/*", Some(false));
        check("application/json;q=0", None);
        check("application/json;q=0, */*", Some(true));
        check(&format!("application/json;q=0, {usual};q=0, */*"), None);
        check("application/*;q=0, */*", None);
        check("application/xml", None);
        check(PROTOBUF_V3[0], None);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_many_ask_for_is_made_once() {
        const MANY: usize = 8;
        let (cell, made) = (Arc::new(OnceCell::<usize>::new()), Arc::new(AtomicUsize::new(0)));
        let (asks, asked) = mpsc::channel();
        let asked = Arc::new(Mutex::new(asked));
        let tasks = (0..MANY).map(|_| {
            let (cell, made, asks, asked) = (cell.clone(), made.clone(), asks.clone(), asked.clone());
            tokio::spawn(async move {
                asks.send(()).expect("somebody listens");
                let make = || {
                    let asked = asked.lock();
                    (0..MANY).for_each(|_| asked.recv_timeout(Duration::from_secs(10)).expect("all ask meanwhile"));
                    Ok(made.fetch_add(1, Ordering::Relaxed))
                };
                once(&cell, make).await.copied().expect("it is made")
            })
        });
        assert_eq!(futures::future::try_join_all(tasks).await.expect("all join"), [0; MANY]);
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_fails_is_tried_again() {
        let cell = OnceCell::<u8>::new();
        assert!(once(&cell, || Err(Error::no_such_path())).await.is_err());
        assert_eq!(once(&cell, || Ok(7)).await.ok(), Some(&7));
        assert_eq!(once(&cell, || Ok(8)).await.ok(), Some(&7));
    }
}
