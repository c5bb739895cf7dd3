//! How fresh a read is, in two headers: the revision of the state that it shows, and how far behind this node was. A read that
//! fails says so too: a node that is behind does not find what others have.
//!
//! A node never goes back: what it served once is in everything that it serves later, also at `resourceVersion=0`.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use quorate_store::Revision;

/// The revision of the state that was read.
const REVISION: HeaderName = HeaderName::from_static("quorate-revision");
/// Changes that are committed as far as this node knows, but were not applied here yet when it answered.
const LAG: HeaderName = HeaderName::from_static("quorate-lag");

/// As almost always.
const NO_LAG: HeaderValue = HeaderValue::from_static("0");

/// What both headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// The revision of the state that was read.
    pub revision: Revision,
    /// Changes that were committed and not applied here yet.
    pub lag: u64,
}

impl Freshness {
    /// Adds both headers.
    pub fn write(self, headers: &mut HeaderMap) {
        headers.insert(REVISION, HeaderValue::from(self.revision.get()));
        headers.insert(LAG, if self.lag == 0 { NO_LAG } else { HeaderValue::from(self.lag) });
    }
}
