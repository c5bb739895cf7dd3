//! The filter chain: the list of all filters, in the order in which a request and its response pass
//! them.
//!
//! Invariants that the order keeps: nothing about the cluster is told before authentication,
//! nothing about what exists before authorization; a request takes no place in flight before it is
//! allowed, and its body is read only when it has one; the deadline, and a panic, end the
//! filters and the handler but nothing of what follows them, so every request gets a response in a
//! syntax that its client reads, and the audit trail and the metrics see every request and every
//! response.
//!
//! What a filter needs of an earlier one is its argument. The filters up to the handler are one
//! future in one box: a filter of its own costs no allocation.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request as HttpRequest, Response};

use super::{
    Exchange, audit, authentication, authorization, cache_control, deadline, error_response,
    flow_control, handler, head_request, impersonation, in_flight, metrics, negotiation,
    panic_guard, request_body, request_id, routing, server_timing, startup, trace,
};
use crate::Api;
use crate::body::Body;
use quorate_access::authentication::ConnectionIdentity;
use quorate_access::authorization::Action;
use quorate_access::request::RequestInfo;
use quorate_trace::{in_span, scope};

/// Answers a request. Never fails: every failure is a response.
pub async fn handle<B>(
    api: &Arc<Api>,
    identity: &ConnectionIdentity,
    request: HttpRequest<B>,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let (Parts { method, uri, headers, .. }, body) = request.into_parts();
    let mut body = pin!(body);
    let info = RequestInfo::parse(api.names, &method, &uri);
    let mut exchange = Exchange::new(api, identity, (&method, &uri, &info), headers);
    let end = exchange.record.deadline();
    let span = trace::span(&exchange);

    // The request's way in: each filter lets it through or ends it.
    let (x, incoming) = (&mut exchange, body.as_mut());
    let filters = Box::pin(async move {
        let authenticated =
            in_span("authentication", pin!(authentication::authenticate(x))).await?;
        let action = Action::of(x.record.info());
        let user = impersonation::impersonate(x, authenticated, &action).await?;
        audit::request_received(x);
        deadline::check_parameter(x)?;
        flow_control::classify(x, &user, &action);
        in_span("authorization", pin!(authorization::authorize(x, &user, &action))).await?;
        startup::admit(x)?;
        let route = routing::find(x).await?;
        let format = negotiation::negotiate(x, &route)?;
        let place = in_span("flow_control", pin!(in_flight::enter(x, &user, &route))).await?;
        let _running = metrics::enter(x);
        let content =
            in_span("request_body", pin!(request_body::read(x, &user, &action, incoming))).await?;
        audit::request_body(x, &route, &content);
        in_span("handler", pin!(handler::run(x, &user, route, format, content, place))).await
    });
    let answer = scope(span, deadline::enforce(end, panic_guard::catch(filters))).await;

    // The response's way out: nothing here fails.
    let mut response = match answer {
        Ok(response) => response,
        Err(failure) => {
            request_body::drain(&exchange, body).await;
            let span = trace::span(&exchange);
            let response = span.enter(|| error_response::render(&mut exchange, failure));
            api.refused_writes.note(&exchange.record, &exchange.headers);
            response
        }
    };
    flow_control::write_headers(&exchange, &mut response);
    let response = audit::response_complete(&mut exchange, response);
    let response = metrics::response_complete(&exchange, response);
    let mut response = head_request::without_body(&method, response);
    request_id::write_header(&exchange, &mut response);
    server_timing::write_header(&exchange, &mut response);
    cache_control::write_header(&mut response);
    trace::response_complete(&mut exchange, response)
}
