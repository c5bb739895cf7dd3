//! What of traces reaches a collector, and what one that is gone or hangs costs.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message;
use quorate_env::SystemEnv;
use quorate_trace::{ParentSpan, SpanKind, TraceContext};
use tokio::time::Instant;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::*;
use crate::telemetry::otlp::tests::tls::{Secured, take_secured};
use crate::telemetry::otlp::tests::{identity, listen, take};
use crate::telemetry::{EXPORT_GRACE, Otlp, stop_exports};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Traces everything, to this collector.
fn start(address: &str, registry: &Registry) -> Traces {
    start_by(&format!("http://{address}"), &[("TIMEOUT", "500")], registry)
}

/// The same with these settings.
fn start_by(endpoint: &str, settings: &[(&str, &str)], registry: &Registry) -> Traces {
    let variable = |name: &str| {
        let setting = name.strip_prefix("OTEL_EXPORTER_OTLP_")?;
        let found = settings.iter().find(|(name, _)| *name == setting)?;
        Some(found.1.to_owned())
    };
    let collector = OtlpCollector::find(Signal::Traces, Some(endpoint), variable).unwrap();
    let options = SamplerOptions { per_million: 1_000_000, ..SamplerOptions::default() };
    let env = SystemEnv::env();
    Traces::start_to(&collector.unwrap(), options, &env, (&identity(), registry)).unwrap()
}

/// A request with a part of its own.
fn request(traces: &Traces, parent: Option<TraceContext>) {
    let trace = traces.tracer().begin(parent.map(ParentSpan::from));
    let begin = Instant::now();
    trace.span().enter(|| quorate_trace::measure("part", || ()));
    let mut root = trace.part("request", begin, Instant::now());
    root.kind = SpanKind::Server;
    root.attributes.push(("url.path", "/api".into()));
    trace.finish(root, Vec::new());
}

fn count(registry: &Registry, result: &str) -> f64 {
    let metric = registry.gather_one("quorate_trace_spans_total", quorate_metrics::Since::Start);
    let metric = metric.expect("the table has it");
    let sample = metric.samples.iter().find(|sample| &*sample.labels[0] == result);
    match sample.map(|sample| &sample.value) {
        Some(quorate_metrics::SampleValue::Number(count)) => *count,
        other => panic!("{result}: {other:?}"),
    }
}

fn spans(body: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|of| of.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_reaches_a_collector() {
    let listener = listen().await;
    let registry = Registry::default();
    let traces = start(&listener.address(), &registry);
    request(&traces, TraceContext::parse(PARENT.as_bytes()));
    let taken = tokio::spawn(async move { take(&*listener).await });
    traces.stop();
    let (head, body) = taken.await.unwrap();
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    let spans = spans(&body);
    let [part, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*part.name, &*request.name), ("part", "request"));
    assert_eq!(part.parent_span_id, request.span_id);
    let hexadecimal =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hexadecimal(&request.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hexadecimal(&request.parent_span_id), "00f067aa0ba902b7");
    assert!(request.end_time_unix_nano >= request.start_time_unix_nano);
    assert_eq!(count(&registry, "exported"), 2.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_reaches_a_collector_by_tls() {
    let secured = Secured::new(b"http/1.1");
    let listener = listen().await;
    let registry = Registry::default();
    let endpoint = format!("https://{}", listener.address());
    let traces = start_by(&endpoint, &[("CERTIFICATE", &secured.authority())], &registry);
    request(&traces, None);
    let acceptor = secured.acceptor.clone();
    let taken = tokio::spawn(async move { take_secured(&*listener, &acceptor).await });
    traces.stop();
    let body = taken.await.unwrap().expect("the collector is trusted");
    assert_eq!(spans(&body).len(), 2);
}

/// A collector that is asked by gRPC.
#[derive(Debug, Clone, Default)]
struct TraceCollector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[async_trait::async_trait]
impl TraceService for TraceCollector {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        self.0.lock().push(request.into_inner());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_reaches_a_collector_by_grpc() {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let endpoint = format!("http://{}", incoming.local_addr().unwrap());
    let collected = TraceCollector::default();
    let service = TraceServiceServer::new(collected.clone());
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let registry = Registry::default();
    let traces = start_by(&endpoint, &[("PROTOCOL", "grpc")], &registry);
    request(&traces, None);
    traces.stop();
    let requests = std::mem::take(&mut *collected.0.lock());
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(spans(&request.encode_to_vec()).len(), 2);
    let resource = format!("{:?}", request.resource_spans[0].resource);
    for attribute in ["service.name", "cluster/1", "quorate.cluster.id", "service.version"] {
        assert!(resource.contains(attribute), "{attribute}: {resource}");
    }
}

/// A collector that takes connections and never answers: requests go on, what is too much is
/// counted, and the stop has its limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_hangs_blocks_nothing() {
    let listener = listen().await;
    let registry = Registry::default();
    let traces = start(&listener.address(), &registry);
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((io, _)) = listener.accept().await {
            held.push(io);
        }
    });
    let begin = Instant::now();
    (0..WAITING_SPANS).for_each(|_| request(&traces, None));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(count(&registry, "dropped") >= WAITING_SPANS as f64 / 2.0);
    let begin = Instant::now();
    traces.stop();
    assert!(begin.elapsed() < STOP_GRACE + Duration::from_secs(1), "{:?}", begin.elapsed());
    held.abort();
}

/// The last metrics and the last traces have one limit together, though the SDK waits longer for
/// metrics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_has_one_limit() {
    let listener = listen().await;
    let endpoint = format!("http://{}", listener.address());
    let registry = Registry::default();
    let traces = start_by(&endpoint, &[], &registry);
    request(&traces, None);
    let otlp = Otlp::start(Some(&endpoint), &SystemEnv::env(), &identity()).unwrap();
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((io, _)) = listener.accept().await {
            held.push(io);
        }
    });
    let begin = Instant::now();
    stop_exports(otlp, Some(Arc::new(traces))).await;
    let took = begin.elapsed();
    assert!(took >= EXPORT_GRACE && took < EXPORT_GRACE * 2, "{took:?}");
    held.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_gone_is_no_failure() {
    let gone = listen().await.address();
    let registry = Registry::default();
    let traces = start(&gone, &registry);
    request(&traces, None);
    traces.stop();
    assert_eq!(count(&registry, "failed"), 2.0);
}

#[test]
fn the_queue_has_a_limit() {
    let check = |variable: Option<&str>, expect: usize| {
        assert_eq!(queue_size(variable.map(str::to_owned)), expect, "{variable:?}");
    };
    check(None, WAITING_SPANS);
    check(Some("0"), WAITING_SPANS);
    check(Some("many"), WAITING_SPANS);
    check(Some("100"), 100);
}
