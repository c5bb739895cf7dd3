//! HEAD: the response of the GET without its body (RFC 9110, section 9.3.2).

use http::{Method, Response};

use crate::body::Body;

/// Leaves out the body of a response to HEAD. Over HTTP/2 no other layer does, and clients break
/// off over one.
pub(super) fn without_body(method: &Method, response: Response<Body>) -> Response<Body> {
    if *method == Method::HEAD { response.map(|_| Body::empty()) } else { response }
}
