//! The response of a request that has failed: a Status in the syntax that its client reads.

use http::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};
use quorate_meta::Status;

use super::{Exchange, negotiation};
use crate::body::Body;
use crate::respond;
use quorate_registry::error::Error;

/// Why a request has no answer of its handler.
#[derive(Debug)]
pub(super) enum Failure {
    /// A filter or the handler has refused it.
    Refused(Error),
    /// A filter or the handler has panicked.
    Panicked,
    /// Its time is over.
    TimedOut,
}

/// The response. The record keeps the failure.
pub(super) fn render(x: &mut Exchange<'_>, failure: Failure) -> Response<Body> {
    let error = match failure {
        Failure::Refused(error) => error,
        Failure::Panicked => {
            tracing::error!(path = x.record.info().path, "a handler panicked");
            x.record.panicked();
            Error::internal("the request could not be handled")
        }
        Failure::TimedOut => {
            Status::timeout("request did not complete within the allotted timeout", 0).into()
        }
    };
    let status = error.clone().into_status();
    let is_forbidden = status.code == StatusCode::FORBIDDEN.as_u16();
    x.record.failed(status);
    let mut response = respond::error(&negotiation::for_errors(x), error);
    respond::warnings::add(&mut response, &x.record.notes().warnings);
    if is_forbidden {
        // The message repeats parts of the request, which the client has chosen.
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}
