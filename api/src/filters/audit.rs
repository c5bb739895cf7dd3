//! The audit filter: hands the record of the request to the audit trail at each stage.
//!
//! Invariant: it only reads; nothing about a response depends on it.

use bytes::Bytes;
use http::Response;
use http_body::Body as _;

use super::Exchange;
use crate::body::Body;
use crate::handlers::Route;

/// The request has come in and its user is known.
pub(super) fn request_received(x: &mut Exchange<'_>) {
    if let (Some(audit), None) = (&x.api.audit, &x.events) {
        x.events = Some(audit.request_received(&x.record, x.identity, &x.headers));
    }
}

/// The body of the request has been read.
pub(super) fn request_body(x: &mut Exchange<'_>, route: &Route, body: &Bytes) {
    if let Some(events) = &mut x.events {
        // Custom objects have no messages.
        let resource = route.resource().filter(|resource| !resource.is_custom());
        let ty = resource.map(|resource| resource.ty());
        events.request_body(x.catalogue.graph(), ty, &x.headers, body);
    }
}

/// The response is there. What is still to be told of it is told when its body ends.
pub(super) fn response_complete(x: &mut Exchange<'_>, response: Response<Body>) -> Response<Body> {
    x.record.answered(response.status(), response.body().size_hint().exact());
    // Of a request that was refused before its user was known nothing has been told yet.
    request_received(x);
    match (&x.api.audit, x.events.take()) {
        (Some(audit), Some(events)) => {
            events.response_complete(audit, &x.record, x.catalogue.graph(), response)
        }
        _ => response,
    }
}

/// The client has left before there was a response.
pub(super) fn client_left(x: &mut Exchange<'_>) {
    if let (Some(audit), Some(events)) = (&x.api.audit, x.events.take()) {
        events.client_left(audit, &x.record);
    }
}
