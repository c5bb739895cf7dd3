//! How fresh a read is, in two headers: the revision of the state that it shows, and how far behind this node was. A read that
//! fails says so too: a node that is behind does not find what others have.
//!
//! A node never goes back: what it served once is in everything that it serves later, also at `resourceVersion=0`.

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use quorate_meta::Status;
use quorate_store::Revision;

use crate::Api;
use crate::body::Body;
use crate::error::Error;

/// The revision of the state that was read.
const REVISION: HeaderName = HeaderName::from_static("quorate-revision");
/// Changes that are committed as far as this node knows, but were not applied here yet when it answered.
const LAG: HeaderName = HeaderName::from_static("quorate-lag");

/// What both headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    revision: Revision,
    lag: u64,
}

impl Freshness {
    /// Of a state that has just been read.
    fn of(api: &Api, revision: Revision) -> Self {
        Self { revision, lag: api.store.status().lag }
    }

    /// Adds both headers.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        headers.insert(REVISION, HeaderValue::from(self.revision.get()));
        headers.insert(LAG, HeaderValue::from(self.lag));
    }
}

/// Adds both headers to the answer of a read.
pub(super) fn tell(api: &Api, revision: Revision, response: &mut Response<Body>) {
    Freshness::of(api, revision).write(response.headers_mut());
}

/// What a read finds in the state at a revision, instead of what was asked for.
pub(super) fn failure(api: &Api, revision: Revision, status: Status) -> Error {
    Error::Read(Box::new(status), Freshness::of(api, revision))
}
