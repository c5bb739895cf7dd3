//! Pages about admission at this node, for its operators.

mod breakers;
mod rehearsal;

use http::Response;
use quorate_access::request::Verb;
use quorate_registry::error::Error;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionPage {
    /// `GET /admission/breakers`: the webhooks that this node does not call at present.
    Breakers,
    /// `POST /admission/rehearsal`: what candidate policies would have said.
    Rehearsal,
}

impl AdmissionPage {
    /// The page at a path.
    pub(crate) fn find(path: &str) -> Option<Self> {
        match path {
            "/admission/breakers" => Some(Self::Breakers),
            "/admission/rehearsal" => Some(Self::Rehearsal),
            _ => None,
        }
    }

    /// The verb that it is asked by.
    pub(crate) fn verb(self) -> Verb {
        match self {
            Self::Breakers => Verb::Get,
            Self::Rehearsal => Verb::Create,
        }
    }
}

pub(super) async fn handle(
    api: &Api,
    request: &Request<'_>,
    page: AdmissionPage,
) -> Result<Response<Body>, Error> {
    match page {
        AdmissionPage::Breakers => breakers::handle(api, request).await,
        AdmissionPage::Rehearsal => rehearsal::handle(api, request).await,
    }
}
