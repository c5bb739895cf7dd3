//! The past: reads as of a moment, the history of an object, and the changes of the cluster.
//!
//! The parameters and the forms of all answers are in README.md, "The past over HTTP".
//!
//! Invariants: every request is authorized as the same one about the present, by the newest rules;
//! what is not known is an error that says so, never a guess. Objects are shown by the definitions
//! of today, and by those of then where the definition is gone. Each look into the past may read a disk, and leaves its thread to others meanwhile.
//!
//! Lists and watches as of a moment are in `list` and `watch`, which take the moment from here.

mod blame;
mod change;
mod changes;
mod extent;
mod gone;
mod history;
mod moment;
mod parameters;
mod purge;
mod purge_request;
mod refused;
mod shown;
mod state;
mod visible;

use std::sync::Arc;

use http::Response;
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::error::Error;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;

pub(crate) use gone::catalogue as gone_catalogue;
pub(super) use moment::{AS_OF, Moment, asked, refuse_misplaced};
pub(super) use state::{
    CHUNK_OBJECTS, PastChunk, PastState, failure, has_shape, is_purged, object_state, resolve,
};

/// A page about the past of the whole cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastPage {
    /// `GET /past`: how far back it reaches.
    Extent,
    /// `GET /past/changes`: what has changed, or what was refused.
    Changes,
    /// `POST /past/purges`: versions are deleted for good; `GET`: what was.
    Purges,
}

impl PastPage {
    /// The page at a path.
    pub(crate) fn find(path: &str) -> Option<Self> {
        match path {
            "/past" => Some(Self::Extent),
            "/past/changes" => Some(Self::Changes),
            "/past/purges" => Some(Self::Purges),
            _ => None,
        }
    }

    /// Whether it is asked by this verb.
    pub(crate) fn serves(self, verb: Verb) -> bool {
        verb == Verb::Get || (self == Self::Purges && verb == Verb::Create)
    }
}

/// A page about the past of one object, which a parameter of its get asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectPage {
    /// Its versions.
    History,
    /// Who gave each field its value.
    Blame,
}

impl ObjectPage {
    /// The page that a get asks for.
    pub(super) fn find(info: &RequestInfo) -> Option<Self> {
        let query = &info.query;
        let asks = |name: &str| query.flag(name) == Some(true);
        match (asks("history"), asks("blame")) {
            (true, _) => Some(Self::History),
            (false, true) => Some(Self::Blame),
            (false, false) => None,
        }
    }
}

/// Answers a get of one object that asks for its past.
pub(super) async fn handle_object(
    api: &Api,
    request: &Request<'_>,
    page: ObjectPage,
) -> Result<Response<Body>, Error> {
    if request.info.subresource.is_some() {
        return Err(Error::bad_request("history and blame are those of whole objects"));
    }
    match page {
        ObjectPage::History => history::handle(api, request).await,
        ObjectPage::Blame => blame::handle(api, request).await,
    }
}

/// Answers a page about the past of the cluster.
pub(super) async fn handle(
    api: &Arc<Api>,
    request: &Request<'_>,
    page: PastPage,
) -> Result<Response<Body>, Error> {
    match page {
        PastPage::Extent => extent::handle(api, request),
        PastPage::Changes if request.info.query.flag("refused") == Some(true) => {
            refused::handle(api, request).await
        }
        PastPage::Changes => changes::handle(api, request).await,
        PastPage::Purges if request.info.verb == Verb::Create => purge::handle(api, request).await,
        PastPage::Purges => purge::list(api, request).await,
    }
}
