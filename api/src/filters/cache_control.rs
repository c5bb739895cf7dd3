//! The Cache-Control header of responses: nothing is kept, unless the handler has said otherwise.

use http::Response;
use http::header::{CACHE_CONTROL, HeaderValue};

use crate::body::Body;

/// Writes the header.
pub(super) fn write_header(response: &mut Response<Body>) {
    response
        .headers_mut()
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
}
