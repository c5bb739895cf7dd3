//! Throughput of a long list: 5,000 objects of 1.5 KB, unpaged, as JSON and in the other forms that
//! controllers ask for.
//!
//! `cargo bench -p quorate-api --bench list`. A bar to hold: 1 GB/s over the loopback without TLS.
//! What TLS adds shows beside `quorate bench list`, which measures a running cluster.

#![expect(clippy::unwrap_used, reason = "a benchmark")]
#![expect(clippy::disallowed_methods, reason = "the client is not a part of the server")]

use std::convert::Infallible;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use quorate_access::authentication::{AuthenticationOptions, ConnectionIdentity, User};
use quorate_access::authorization::ModeOptions;
use quorate_access::flow_control::InFlightLimits;
use quorate_api::body::Body;
use quorate_api::kubelet::KubeletClient;
use quorate_api::lifecycle::Phase;
use quorate_api::{Api, ApiOptions, SelectorIndexOptions, Version, filters};
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_store::{MemoryOptions, MemoryStore};
use tokio::runtime::Runtime;

const NAMING: Naming = Naming::Svc;
const OBJECTS: usize = 5_000;
/// Bytes of text in each object; with its metadata it is 1.5 KB.
const TEXT_BYTES: usize = 1_100;
const LIST: &str = "/api/v1/namespaces/bench/configmaps";
const JSON: &str = "application/json";
/// The other forms of a list, by their Accept headers.
const FORMS: [(&str, &str); 4] = [
    ("protobuf", "application/vnd.svc.protobuf"),
    ("metadata", "application/json;as=PartialObjectMetadataList;g=meta.svc.io;v=v1"),
    (
        "metadata in protobuf",
        "application/vnd.svc.protobuf;as=PartialObjectMetadataList;g=meta.svc.io;v=v1",
    ),
    ("table", "application/json;as=Table;g=meta.svc.io;v=v1"),
];
const PLACES: usize = 4;
/// Bytes that the client takes from its socket at a time.
const TAKEN_BYTES: usize = 256 << 10;
/// The end of a chunked body (RFC 9112, section 7.1).
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn identity() -> ConnectionIdentity {
    ConnectionIdentity::of_user(User::new("admin", ["system:masters".to_owned()]))
}

fn api() -> Arc<Api> {
    let env = SystemEnv::env();
    Api::new(ApiOptions {
        naming: NAMING,
        catalogue: builtin::catalogue_of(NAMING.names()),
        store: Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone()))),
        env,
        version: Version::default(),
        address: String::new(),
        phase: Phase::Serving,
        authentication: AuthenticationOptions::default(),
        audit: None,
        authorization: vec![ModeOptions::Rules],
        token_secret: [7; 32],
        in_flight: InFlightLimits { read_only: PLACES, mutating: PLACES, long_running: PLACES },
        priority_and_fairness: true,
        gates: "".parse().unwrap(),
        webhook_roots: Vec::new(),
        protobuf_cache_bytes: 64 << 20,
        selector_indexes: SelectorIndexOptions::default(),
        kubelets: KubeletClient::default(),
        metrics: Arc::default(),
        tracer: None,
    })
}

async fn send(api: &Arc<Api>, method: Method, path: &str, body: String) -> Response<Body> {
    send_as(api, method, path, "application/json", body).await
}

async fn send_as(
    api: &Arc<Api>,
    method: Method,
    path: &str,
    accept: &str,
    body: String,
) -> Response<Body> {
    let request = Request::builder().method(method).uri(path).header("accept", accept);
    filters::handle(api, &identity(), request.body(Full::new(Bytes::from(body))).unwrap()).await
}

async fn fill(api: &Arc<Api>) {
    let namespace = r#"{"metadata": {"name": "bench"}}"#.to_owned();
    assert_eq!(
        send(api, Method::POST, "/api/v1/namespaces", namespace).await.status(),
        StatusCode::CREATED
    );
    let text = "x".repeat(TEXT_BYTES);
    for number in 0..OBJECTS {
        let object = format!(
            r#"{{"metadata": {{"name": "object-{number:08}"}}, "data": {{"text": "{text}"}}}}"#
        );
        assert_eq!(send(api, Method::POST, LIST, object).await.status(), StatusCode::CREATED);
    }
}

/// Makes a list; how many bytes it has.
async fn made(api: &Arc<Api>, accept: &str) -> usize {
    let list = send_as(api, Method::GET, LIST, accept, String::new()).await;
    let mut body = pin!(list.into_body());
    let mut bytes = 0;
    while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await
    {
        bytes += black_box(frame.unwrap().into_data().unwrap()).len();
    }
    bytes
}

/// Serves connections without TLS.
fn serve(runtime: &Runtime, api: Arc<Api>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let api = api.clone();
            let service = service_fn(move |request| {
                let api = api.clone();
                async move { Ok::<_, Infallible>(filters::handle(&api, &identity(), request).await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

/// Takes a list from a connection; how many bytes came.
fn taken(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let request = format!("GET {LIST} HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let (mut bytes, mut end) = (0, Vec::new());
    while !end.ends_with(LAST_CHUNK) {
        let read = stream.read(buffer).unwrap();
        assert_ne!(read, 0, "the list ends early");
        bytes += read;
        end.extend_from_slice(&buffer[read.saturating_sub(LAST_CHUNK.len())..read]);
        end.drain(..end.len().saturating_sub(LAST_CHUNK.len()));
    }
    bytes
}

fn lists(criterion: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let api = api();
    runtime.block_on(fill(&api));
    let bytes = runtime.block_on(made(&api, JSON));
    assert!(bytes > OBJECTS * TEXT_BYTES);
    let mut group = criterion.benchmark_group(format!("a list of {bytes} bytes"));
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("made", |bencher| bencher.iter(|| runtime.block_on(made(&api, JSON))));
    for (form, accept) in FORMS {
        group.bench_function(format!("made as {form}"), |bencher| {
            bencher.iter(|| runtime.block_on(made(&api, accept)));
        });
    }
    let mut stream = TcpStream::connect(serve(&runtime, api.clone())).unwrap();
    let mut buffer = vec![0; TAKEN_BYTES];
    assert!(taken(&mut stream, &mut buffer) >= bytes);
    group.bench_function("taken from the loopback without TLS", |bencher| {
        bencher.iter(|| taken(&mut stream, &mut buffer));
    });
    group.finish();
}

criterion_group!(benches, lists);
criterion_main!(benches);
