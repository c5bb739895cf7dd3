//! The OpenAPI endpoints `/openapi/v3` and `/openapi/v2`: the schema of what is served, for clients
//! that explain, validate or generate.
//!
//! Invariants: a document's URL carries its hash, under which it never changes and may be kept by
//! clients for ever; the hash is the ETag of the form in JSON, in whichever form it is asked for. The
//! index is JSON whatever is asked for; documents are there in protobuf as well, in which kubectl
//! insists on the one of version 2.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::{Response, StatusCode};
use quorate_meta::{Naming, well_known};

use super::compression;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::negotiation;
use crate::openapi::{Document, DocumentSet, PROTOBUF_V2, PROTOBUF_V3, ROOT, Served, url};
use crate::respond;
use quorate_registry::error::Error;

/// A page of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenApiPage {
    /// Which documents there are, and their URLs.
    Index,
    /// One document of version 3, for example `apis/apps/v1`.
    Part(String),
    /// Everything in one document of version 2.
    Whole,
}

impl OpenApiPage {
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

pub(crate) async fn handle(
    api: &Api,
    request: &Request<'_>,
    page: &OpenApiPage,
) -> Result<Response<Body>, Error> {
    let (protobuf, path) = match page {
        OpenApiPage::Index => return index(api, request).await,
        OpenApiPage::Part(path) => (PROTOBUF_V3, Some(path)),
        OpenApiPage::Whole => (PROTOBUF_V2, None),
    };
    let accept = request.header("accept").unwrap_or_default();
    let names = match api.names.naming {
        Naming::Svc => &protobuf[..],
        Naming::Kubernetes => &protobuf[..1],
    };
    let Some(media) = media(accept, names) else {
        return Ok(plain(StatusCode::NOT_ACCEPTABLE));
    };
    let mut response = match path {
        Some(path) => part(api, request, path, is_protobuf(media)).await?,
        None => {
            let (documents, served) = (documents(api, request), served(api, request));
            let whole = api.openapi.whole(&documents, served, is_protobuf(media)).await;
            send(api, request, &whole.document)?
        }
    };
    if let Some(named) = response.headers_mut().get_mut(CONTENT_TYPE) {
        *named = HeaderValue::from_static(media);
    }
    Ok(response)
}

fn documents(api: &Api, request: &Request<'_>) -> Arc<DocumentSet> {
    api.openapi.of(request.catalogue)
}

fn served<'r>(api: &Api, request: &Request<'r>) -> Served<'r> {
    Served { catalogue: request.catalogue, with_cbor: api.formats.has_cbor() }
}

/// The media type of the document that an Accept header (empty when absent) asks for: JSON, or
/// protobuf under one of its names; `None` when neither will do. A wildcard means JSON unless the
/// header refuses that.
fn media(accept: &str, protobuf: &[[&'static str; 2]]) -> Option<&'static str> {
    if accept.trim().is_empty() {
        return Some(well_known::MEDIA_JSON);
    }
    let offered = [well_known::MEDIA_JSON, protobuf[0][0]];
    let clauses = negotiation::clauses(accept);
    let mut asked =
        clauses.iter().flat_map(|clause| negotiation::meant(clause, accept, || offered.to_vec()));
    asked.find_map(|media| match media {
        well_known::MEDIA_JSON => Some(well_known::MEDIA_JSON),
        media => protobuf.iter().find(|names| names.contains(&media)).map(|[usual, _]| *usual),
    })
}

fn is_protobuf(media: &str) -> bool {
    media != well_known::MEDIA_JSON
}

async fn index(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    send(api, request, documents(api, request).index(served(api, request)).await?)
}

async fn part(
    api: &Api,
    request: &Request<'_>,
    path: &str,
    in_protobuf: bool,
) -> Result<Response<Body>, Error> {
    let (documents, served) = (documents(api, request), served(api, request));
    let newest = documents.hash(served, path).await?;
    let hash = request.info.query.text("hash");
    if !hash.is_empty() && hash != newest.trim_matches('"') {
        let mut response = plain(StatusCode::MOVED_PERMANENTLY);
        response.headers_mut().insert(LOCATION, respond::header(&url(path, &newest))?);
        return Ok(response);
    }
    let document = api.openapi.part(&documents, served, path, in_protobuf).await?;
    let mut response = send(api, request, &document)?;
    if !hash.is_empty() {
        let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
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
    Ok(compression::apply(api, request, response))
}

fn plain(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_form_is_asked_for() {
        let (json, [names, own]) = (well_known::MEDIA_JSON, PROTOBUF_V2);
        let check = |accept: &str, expect: Option<&str>| {
            assert_eq!(media(accept, &PROTOBUF_V2), expect, "{accept}");
        };
        for (protobuf, usual) in [names, own].iter().flat_map(|two| two.map(|one| (one, two[0]))) {
            check(protobuf, Some(usual));
            check(&protobuf.to_ascii_uppercase(), Some(usual));
            check(&format!("{protobuf};q=0.1, application/xml"), Some(usual));
            check(&format!("{protobuf}, application/json"), Some(usual));
            check(&format!("application/json, {protobuf}"), Some(json));
            check(&format!("{protobuf};q=0.5, application/json;q=0.9"), Some(json));
            check(&format!("application/json;q=0.5, {protobuf};q=0.9"), Some(usual));
            check(&format!("{protobuf};q=0"), None);
            check(&format!("{protobuf};q=0, application/json"), Some(json));
            check(&format!("{protobuf};q=0, */*"), Some(json));
        }
        let usual = names[0];
        check("", Some(json));
        check("*/*", Some(json));
        check("application/*", Some(json));
        check("application/json;q=0", None);
        check("application/json;q=0, */*", Some(usual));
        check(&format!("application/json;q=0, {usual};q=0, */*"), None);
        check("application/*;q=0, */*", None);
        check("application/xml", None);
        check(PROTOBUF_V3[0][0], None);
        assert_eq!(media(own[0], &PROTOBUF_V2[..1]), None, "a name of another profile");
    }
}
