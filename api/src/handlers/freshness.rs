//! The freshness headers of reads, whether they find something or not.

use http::Response;
use quorate_meta::Status;
use quorate_store::Revision;

use crate::Api;
use crate::body::Body;
use quorate_registry::error::Error;
use quorate_registry::freshness::Freshness;

/// Adds both headers to the answer of a read.
pub(super) fn tell(api: &Api, revision: Revision, response: &mut Response<Body>) {
    of(api, revision).write(response.headers_mut());
}

/// What a read finds in the state at a revision, instead of what was asked for.
pub(super) fn failure(api: &Api, revision: Revision, status: Status) -> Error {
    Error::Read(Box::new(status), of(api, revision))
}

/// How fresh a state is that has just been read.
fn of(api: &Api, revision: Revision) -> Freshness {
    Freshness { revision, lag: api.store.status().lag }
}
