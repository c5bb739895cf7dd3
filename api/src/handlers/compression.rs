//! Response compression of gets and lists, behind the gate `APIResponseCompression`.
//!
//! Invariant: a response is compressed only where its client accepts that; a watch never is.

use http::Response;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond::gzip;
use quorate_access::request::Verb;
use quorate_registry::features::Feature;

/// The same response, compressed if that is wanted and worth it.
pub(super) fn apply(api: &Api, request: &Request<'_>, response: Response<Body>) -> Response<Body> {
    let is_read = matches!(request.info.verb, Verb::Get | Verb::List);
    if !is_read
        || !api.gates.has(Feature::ApiResponseCompression)
        || !gzip::accepts(request.headers)
    {
        return response;
    }
    gzip::compress(response, api.audit.is_some())
}
