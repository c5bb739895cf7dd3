//! What reaches a collector.

pub(in crate::telemetry) mod tls;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_metrics::MetricsOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::*;

pub(in crate::telemetry) fn identity() -> ServiceIdentity {
    ServiceIdentity { instance: "cluster/1".to_owned(), cluster: "cluster".to_owned() }
}

/// Takes one request; gives its head and its body, and answers that it is taken.
pub(in crate::telemetry) async fn take(listener: &dyn quorate_env::Listener) -> (String, Vec<u8>) {
    take_from(listener.accept().await.unwrap().0).await
}

pub(in crate::telemetry) async fn listen() -> Box<dyn quorate_env::Listener> {
    SystemEnv::env().network.listen("127.0.0.1:0").await.unwrap()
}

async fn take_from(mut io: Box<dyn quorate_env::Io>) -> (String, Vec<u8>) {
    let mut text = Vec::new();
    loop {
        let mut part = [0; 4096];
        let read = io.read(&mut part).await.unwrap();
        assert!(read > 0, "the exporter broke off");
        text.extend_from_slice(&part[..read]);
        let Some(end) = text.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&text[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.expect("a length").parse().unwrap();
        if text.len() >= end + 4 + length {
            io.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            return (head, text.split_off(end + 4));
        }
    }
}

fn contains(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|window| window == text.as_bytes())
}

/// What is counted when it is read, as the requests that run are, must not wait for who reads it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_histogram_that_is_counted_while_all_is_gathered_reaches_a_collector() {
    let env = SystemEnv::env();
    let listener = env.network.listen("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.address());
    let otlp = Otlp::start(Some(&endpoint), &env, &identity()).unwrap().unwrap();
    let registry = Registry::new(&MetricsOptions::default(), Some(otlp.clone()));
    otlp.observe(&registry);
    let phases = registry.histogram::<1>("quorate_write_phase_duration_seconds");
    registry.observe("quorate_store_revision", move |to| {
        phases.observe(["admit"], 0.5);
        to.add_count(&[], 7);
    });
    #[expect(clippy::disallowed_methods, reason = "the runtime waits for a thread of its own")]
    std::thread::spawn(move || otlp.stop());
    let taken = tokio::time::timeout(Duration::from_secs(20), take(&*listener)).await;
    let (_, body) = taken.expect("the metrics are sent");
    for text in ["quorate_store_revision", "quorate_write_phase_duration_seconds", "admit"] {
        assert!(contains(&body, text), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_reach_a_collector() {
    let env = SystemEnv::env();
    let listener = env.network.listen("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.address());
    let identity = identity();
    let otlp = Otlp::start(Some(&endpoint), &env, &identity).unwrap().unwrap();
    let registry = Registry::new(&MetricsOptions::default(), Some(otlp.clone()));
    otlp.observe(&registry);
    registry.counter::<1>("quorate_store_transactions_total").inc(["committed"]);
    registry.gauge::<0>("quorate_store_revision").with([]).set(7.0);
    registry.histogram::<1>("quorate_write_phase_duration_seconds").observe(["admit"], 0.5);
    let taken = tokio::spawn(async move { take(&*listener).await });
    otlp.stop();
    let (head, body) = taken.await.unwrap();
    assert!(head.starts_with("post /v1/metrics http/1.1"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    for text in [
        "quorate_store_transactions_total",
        "quorate_store_revision",
        "quorate_write_phase_duration_seconds",
        "committed",
        "cluster/1",
        "service.name",
    ] {
        assert!(contains(&body, text), "{text}");
    }
}

/// A collector that is asked by gRPC.
#[derive(Debug, Clone, Default)]
struct Collected(Arc<Mutex<Vec<ExportMetricsServiceRequest>>>);

#[async_trait::async_trait]
impl MetricsService for Collected {
    async fn export(
        &self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Result<tonic::Response<ExportMetricsServiceResponse>, tonic::Status> {
        self.0.lock().push(request.into_inner());
        Ok(tonic::Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_reach_a_collector_by_grpc() {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let endpoint = format!("http://{}", incoming.local_addr().unwrap());
    let collected = Collected::default();
    let service = MetricsServiceServer::new(collected.clone());
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let grpc = |name: &str| (name == "OTEL_EXPORTER_OTLP_PROTOCOL").then(|| "grpc".to_owned());
    let collector = OtlpCollector::find(Signal::Metrics, Some(&endpoint), grpc).unwrap().unwrap();
    let identity = identity();
    let otlp = Otlp::start_to(&collector, &SystemEnv::env(), &identity).unwrap();
    let registry = Registry::new(&MetricsOptions::default(), Some(otlp.clone()));
    otlp.observe(&registry);
    let phases = registry.histogram::<1>("quorate_write_phase_duration_seconds");
    phases.observe(["admit"], 0.5);
    phases.observe(["admit"], 0.25);
    otlp.stop();
    let told = format!("{:?}", collected.0.lock());
    assert!(told.contains("quorate_write_phase_duration_seconds"), "{told}");
    assert!(told.contains("sum: Some(0.75)"), "{told}");
}

/// A collector that is not there costs the node nothing but a line in the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_gone_is_no_failure() {
    let env = SystemEnv::env();
    let gone = env.network.listen("127.0.0.1:0").await.unwrap().address();
    let identity = identity();
    let otlp = Otlp::start(Some(&format!("http://{gone}")), &env, &identity).unwrap().unwrap();
    let registry = Registry::new(&MetricsOptions::default(), Some(otlp.clone()));
    otlp.observe(&registry);
    registry.histogram::<1>("quorate_write_phase_duration_seconds").observe(["admit"], 0.5);
    otlp.stop();
}
