//! The pages of discovery and which form each is asked in.
//!
//! Invariant: a group is shown under the name that the client used for it, also where that is an
//! edge alias.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::{Response, StatusCode};
use quorate_meta::Names;

use super::{aggregated, plain};
use crate::Api;
use crate::body::Body;
use crate::discovery::{AggregatedAnswer, Groups};
use crate::handlers::Request;
use crate::negotiation::{Format, Offer};
use crate::respond;
use quorate_registry::Catalogue;
use quorate_registry::error::Error;

/// A page of discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiscoveryPage {
    /// `/api`: the versions of the core group.
    Core,
    /// `/apis`: every other group.
    Groups,
    /// `/apis/GROUP`.
    Group { asked: String, group: String },
    /// `/api/VERSION` or `/apis/GROUP/VERSION`.
    Version { asked: String, group: String, version: String },
}

impl DiscoveryPage {
    /// The page of a path without a trailing slash, when what it names is served.
    pub(crate) fn find(api: &Api, catalogue: &Catalogue, path: &str) -> Option<Self> {
        let names = api.names;
        let mut segments = path.strip_prefix('/')?.split('/');
        let (root, first, second) = (segments.next()?, segments.next(), segments.next());
        if segments.next().is_some() {
            return None;
        }
        let page = match (root, first, second) {
            ("api", None, None) => Self::Core,
            ("apis", None, None) => Self::Groups,
            ("api", Some(version), None) => Self::Version {
                asked: String::new(),
                group: String::new(),
                version: version.into(),
            },
            ("apis", Some(asked), None) => {
                Self::Group { asked: asked.into(), group: canonical(names, asked) }
            }
            ("apis", Some(asked), Some(version)) => Self::Version {
                asked: asked.into(),
                group: canonical(names, asked),
                version: version.into(),
            },
            _ => return None,
        };
        // The core group has no name, and no place below `/apis`.
        if first == Some("") {
            return None;
        }
        page.is_served(&api.discovery.of(catalogue), catalogue).then_some(page)
    }

    /// Whether the page has an aggregated form.
    pub(crate) fn is_aggregated(&self) -> bool {
        matches!(self, Self::Core | Self::Groups)
    }

    fn is_served(&self, groups: &Groups, catalogue: &Catalogue) -> bool {
        match self {
            Self::Core | Self::Groups => true,
            Self::Group { group, .. } => !group.is_empty() && groups.serves(group),
            Self::Version { group, version, .. } => catalogue.serves(group, version),
        }
    }
}

fn canonical(names: &Names, asked: &str) -> String {
    names.edge_group(asked).unwrap_or_else(|| asked.to_owned())
}

/// Answers a page.
pub(crate) fn handle(
    api: &Api,
    request: &Request<'_>,
    page: &DiscoveryPage,
) -> Result<Response<Body>, Error> {
    let groups = api.discovery.of(request.catalogue);
    if !page.is_aggregated() {
        let document = plain::document(api, &groups, page);
        return respond::document(&request.format, StatusCode::OK, None, document);
    }
    let accept = request.header("accept").unwrap_or_default();
    let core = *page == DiscoveryPage::Core;
    if let Some(form) = aggregated::AggregatedForm::asked(api.names, &api.formats, accept) {
        let make = || aggregated::document(&groups, core, &form);
        let answer = groups.aggregated(core, form.key(), make)?;
        return aggregated_answer(request, &answer);
    }
    let format = api.formats.negotiate(accept, Offer::Document);
    let format = format.map_err(|refused| respond::unacceptable(&api.formats, refused))?;
    let format = Format { pretty: request.format.pretty || format.pretty, ..format };
    let document = plain::document(api, &groups, page);
    let mut response = respond::document(&format, StatusCode::OK, None, document)?;
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

fn aggregated_answer(
    request: &Request<'_>,
    answer: &AggregatedAnswer,
) -> Result<Response<Body>, Error> {
    let AggregatedAnswer { body, etag, content_type } = answer;
    let same = respond::is_known(request.header(IF_NONE_MATCH.as_str()), etag);
    let mut response = Response::new(if same { Body::empty() } else { Body::full(body.clone()) });
    *response.status_mut() = if same { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(ETAG, respond::header(etag)?);
    // It may be kept as long as it is asked for again by its ETag.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(CONTENT_TYPE, respond::header(content_type)?);
    Ok(response)
}
