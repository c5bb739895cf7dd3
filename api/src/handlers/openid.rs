//! The OpenID Connect discovery document and the public keys of the issuer, for relying parties
//! that check service account tokens (OpenID Connect Discovery 1.0).
//!
//! Invariant: both documents are made from the keys of the moment, so a key that was added is there
//! at once.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use quorate_meta::{Map, Status, Value};

use crate::Api;
use crate::body::Body;
use crate::negotiation::Format;
use crate::respond;
use quorate_access::authentication::token::{ALGORITHM, Refusal};
use quorate_registry::error::Error;

/// How long a relying party may keep the documents: new keys sign later than that only by its own
/// choice, unknown ones make it ask again.
const CACHING: &str = "public, max-age=3600";

/// A document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenIdPage {
    /// The issuer of tokens, and where its keys are.
    Configuration,
    /// The keys.
    Keys,
}

impl OpenIdPage {
    /// The document at a path.
    pub(crate) fn find(path: &str) -> Option<Self> {
        match path {
            "/.well-known/openid-configuration" => Some(Self::Configuration),
            "/openid/v1/jwks" => Some(Self::Keys),
            _ => None,
        }
    }
}

pub(super) fn handle(api: &Api, page: OpenIdPage) -> Result<Response<Body>, Error> {
    let tokens = &api.authentication.service_accounts;
    let keys =
        tokens.keys().ok_or_else(|| Status::service_unavailable(Refusal::NoKeys.to_string()))?;
    let (media, document) = match page {
        OpenIdPage::Configuration => ("application/json", configuration(api)),
        OpenIdPage::Keys => ("application/jwk-set+json", keys.published()),
    };
    let mut response = respond::value(&Format::JSON, StatusCode::OK, &document)?;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(CACHING));
    Ok(response)
}

fn configuration(api: &Api) -> Value {
    let options = api.authentication.service_accounts.options();
    let list = |text: &str| Value::from(vec![text]);
    Value::Map(Map::from([
        ("issuer", Value::from(options.issuers.first().cloned().unwrap_or_default())),
        ("jwks_uri", options.jwks_uri.as_str().into()),
        ("response_types_supported", list("id_token")),
        ("subject_types_supported", list("public")),
        ("id_token_signing_alg_values_supported", list(ALGORITHM)),
    ]))
}
