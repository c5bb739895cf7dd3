//! Read freshness in two response headers: the revision of the state that was read, and how far
//! behind this node was. A failed read has them too, because a node that is behind does not find
//! what others do.
//!
//! Invariant: the state that a node serves never goes back in time, also at `resourceVersion=0`.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use quorate_store::Revision;

/// The revision of the state that was read.
const REVISION: HeaderName = HeaderName::from_static("quorate-revision");
/// The number of changes that were committed, as far as this node knows, and not applied here yet.
const LAG: HeaderName = HeaderName::from_static("quorate-lag");

/// The value of nearly every read.
const NO_LAG: HeaderValue = HeaderValue::from_static("0");

/// The values of both headers.
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
