//! How fresh a read is, in two headers: the revision of the state that it shows, and how far behind this node was.
//!
//! A node never goes back: what it served once is in everything that it serves later, also at `resourceVersion=0`.

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use quorate_store::Revision;

use crate::Api;
use crate::body::Body;

/// The revision of the state that was read.
const REVISION: HeaderName = HeaderName::from_static("quorate-revision");
/// Changes that are committed as far as this node knows, but were not applied here yet when it answered.
const LAG: HeaderName = HeaderName::from_static("quorate-lag");

/// Adds both headers to the answer of a read.
pub(super) fn tell(api: &Api, revision: Revision, response: &mut Response<Body>) {
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(REVISION, HeaderValue::from(revision.get()));
    headers.insert(LAG, HeaderValue::from(api.store.status().lag));
}
