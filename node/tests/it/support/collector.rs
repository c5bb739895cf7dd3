//! A collector of OpenTelemetry: it keeps the traces that nodes send over HTTP.

use std::sync::Arc;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message;
use tokio::net::TcpListener;

/// A collector that keeps what it gets over HTTP.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<Bytes>>>);

/// A span, with the node that tells it.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) instance: String,
    pub(crate) span: Span,
}

impl Collector {
    /// Listens at this address of the machine, on a port that is free; gives both.
    pub(crate) async fn start(host: &str) -> (Self, String) {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let collector = Self::default();
        let serving = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let collector = serving.clone();
                let service = service_fn(move |request| collector.clone().take(request));
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        (collector, address)
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
        let is_traces = request.uri().path() == "/v1/traces";
        let body = request.into_body().collect().await?.to_bytes();
        if is_traces {
            self.0.lock().push(body);
        }
        Ok(Response::new(Full::default()))
    }

    /// What it has got, as it came.
    pub(crate) fn bodies(&self) -> Vec<Bytes> {
        self.0.lock().clone()
    }

    /// Every span.
    pub(crate) fn told(&self) -> Vec<Told> {
        let mut told = Vec::new();
        for body in self.bodies() {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            for of in request.resource_spans {
                let resource = of.resource.unwrap();
                let instance = attribute_text(&resource.attributes, "service.instance.id");
                assert_eq!(attribute_text(&resource.attributes, "service.name"), "quorate");
                let spans = of.scope_spans.into_iter().flat_map(|scope| scope.spans);
                told.extend(spans.map(|span| Told { instance: instance.clone(), span }));
            }
        }
        told
    }

    /// The spans of a trace.
    pub(crate) fn of_trace(&self, trace: &str) -> Vec<Told> {
        let mut told = self.told();
        told.retain(|told| hexadecimal(&told.span.trace_id) == trace);
        told
    }
}

/// An identifier as it is written.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value of an attribute.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> Option<Attribute> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.clone()?.value
}

/// The same where it has to be a text.
pub(crate) fn attribute_text(attributes: &[KeyValue], key: &str) -> String {
    match attribute(attributes, key) {
        Some(Attribute::StringValue(text)) => text,
        other => panic!("{key}: {other:?} of {attributes:?}"),
    }
}
