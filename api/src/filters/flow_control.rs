//! The flow control filter: finds the flow schema and the priority level of the request, and names
//! them in two headers of its response.
//!
//! Not here: how many requests run at one time, which the filter of requests in flight limits.

use http::Response;

use super::Exchange;
use crate::body::Body;
use quorate_access::authentication::User;
use quorate_access::authorization::Action;

/// Classifies the request.
pub(super) fn classify(x: &mut Exchange<'_>, user: &User, action: &Action<'_>) {
    let flow = x.api.flow_control.classify(user, action);
    x.record.classified(flow);
}

/// Writes the headers of a request that was classified.
pub(super) fn write_headers(x: &Exchange<'_>, response: &mut Response<Body>) {
    if let Some(flow) = x.record.flow() {
        x.api.flow_control.write_headers(flow, response.headers_mut());
    }
}
