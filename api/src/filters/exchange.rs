//! The exchange of one request and its response, as every filter gets it.
//!
//! It has what all filters may need: the server's parts, the connection's identity, the headers,
//! and the record of the request. What one filter finds for another is no field here but a result
//! of the one and an argument of the other, so that the compiler keeps the order of the filters.

use std::sync::Arc;

use http::{HeaderMap, Method, Uri};

use super::{audit, metrics, request_id, trace};
use crate::Api;
use crate::audit::RequestEvents;
use crate::request_record::RequestRecord;
use quorate_access::authentication::ConnectionIdentity;
use quorate_access::request::RequestInfo;
use quorate_registry::Catalogue;
use quorate_trace::Trace;

/// One request on its way through the filters.
pub(super) struct Exchange<'a> {
    pub(super) api: &'a Arc<Api>,
    /// What is served while the request runs.
    pub(super) catalogue: Arc<Catalogue>,
    /// What the connection proved about its client.
    pub(super) identity: &'a ConnectionIdentity,
    pub(super) method: &'a Method,
    pub(super) headers: HeaderMap,
    pub(super) record: RequestRecord<'a>,
    /// The authorizer's epoch before the first filter asked it.
    pub(super) epoch: Option<u64>,
    /// The audit events of the request, once its user is known.
    pub(super) events: Option<RequestEvents>,
    /// The trace of the request, until it is told.
    pub(super) trace: Option<Trace<'a>>,
}

impl<'a> Exchange<'a> {
    /// The exchange of a request that has just come in.
    pub(super) fn new(
        api: &'a Arc<Api>,
        identity: &'a ConnectionIdentity,
        (method, uri, info): (&'a Method, &'a Uri, &'a RequestInfo),
        headers: HeaderMap,
    ) -> Self {
        let id = request_id::of(&headers, api.process, &api.requests);
        let record = RequestRecord::new(id, uri, info, api.env.clock.now_ms());
        let catalogue = api.catalogue.load();
        let trace = trace::begin(api.tracer.as_deref(), &headers);
        Self {
            api,
            catalogue,
            identity,
            method,
            headers,
            record,
            epoch: api.authorizer.epoch(),
            events: None,
            trace,
        }
    }
}

impl Drop for Exchange<'_> {
    /// Of a request without a response the client has left: the connection drops what runs for it.
    fn drop(&mut self) {
        if self.record.status().is_none() {
            audit::client_left(self);
            metrics::client_left(self);
            trace::client_left(self);
        }
    }
}
