//! Metrics reach a collector by TLS whose authority is known from a file, and no other collector.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::stream;
use quorate_env::{Io, Listener};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::*;

/// How long the SDK waits for an export that is under way when it is stopped, whatever it was asked
/// for.
const SDK_STOP: Duration = Duration::from_secs(5);

/// A collector's TLS, and the file of the authority that has signed its certificate.
pub(in crate::telemetry) struct Secured {
    pub(in crate::telemetry) acceptor: TlsAcceptor,
    folder: TempDir,
}

impl Secured {
    pub(in crate::telemetry) fn new(protocol: &[u8]) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = authority.self_signed(&key).unwrap();
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("ca.crt"), certificate.pem()).unwrap();
        let issuer = Issuer::new(authority, key);
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let own = own.signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.to_vec()];
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), folder }
    }

    /// The file of its authority.
    pub(in crate::telemetry) fn authority(&self) -> String {
        self.folder.path().join("ca.crt").display().to_string()
    }

    /// An export to this address by a protocol, trusting the authority of this collector.
    fn export(&self, address: &str, protocol: &str) -> Arc<Otlp> {
        let file = self.authority();
        let variable = |name: &str| match name {
            "OTEL_EXPORTER_OTLP_PROTOCOL" => Some(protocol.to_owned()),
            "OTEL_EXPORTER_OTLP_CERTIFICATE" => Some(file.clone()),
            _ => None,
        };
        let collector =
            OtlpCollector::find(Signal::Metrics, Some(&format!("https://{address}")), variable);
        let identity = identity();
        Otlp::start_to(&collector.unwrap().unwrap(), &SystemEnv::env(), &identity).unwrap()
    }
}

/// Counts something that is exported.
fn count(otlp: &Arc<Otlp>) -> Arc<Registry> {
    let registry = Registry::new(&MetricsOptions::default(), Some(otlp.clone()));
    otlp.observe(&registry);
    registry.counter::<1>("quorate_store_transactions_total").inc(["committed"]);
    registry
}

/// Takes one request by TLS; `None` when the client does not trust the collector.
pub(in crate::telemetry) async fn take_secured(
    listener: &dyn Listener,
    acceptor: &TlsAcceptor,
) -> Option<Vec<u8>> {
    let (io, _) = listener.accept().await.unwrap();
    let io: Box<dyn Io> = Box::new(acceptor.accept(io).await.ok()?);
    Some(take_from(io).await.1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_by_tls_with_an_authority_of_its_own() {
    let secured = Secured::new(b"http/1.1");
    let listener = listen().await;
    let otlp = secured.export(&listener.address(), "http/protobuf");
    let _registry = count(&otlp);
    let acceptor = secured.acceptor.clone();
    let taken = tokio::spawn(async move { take_secured(&*listener, &acceptor).await });
    otlp.stop();
    let body = taken.await.unwrap().expect("the collector is trusted");
    assert!(contains(&body, "quorate_store_transactions_total"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_of_another_authority_gets_nothing() {
    for protocol in ["http/protobuf", "grpc"] {
        let alpn: &[u8] = if protocol == "grpc" { b"h2" } else { b"http/1.1" };
        let (trusted, other) = (Secured::new(alpn), Secured::new(alpn));
        let listener = listen().await;
        let otlp = trusted.export(&listener.address(), protocol);
        let _registry = count(&otlp);
        let acceptor = other.acceptor.clone();
        let taken = tokio::spawn(async move { take_secured(&*listener, &acceptor).await });
        otlp.stop();
        assert_eq!(taken.await.unwrap(), None, "{protocol}");
    }
}

/// A connection as tonic serves it.
struct Served(TlsStream<Box<dyn Io>>);

impl Connected for Served {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Served {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Served {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpc_by_tls_with_an_authority_of_its_own() {
    let secured = Secured::new(b"h2");
    let listener = listen().await;
    let address = listener.address();
    let acceptor = secured.acceptor.clone();
    let incoming = stream::unfold((listener, acceptor), |(listener, acceptor)| async move {
        let (io, _) = listener.accept().await.ok()?;
        let served = acceptor.accept(io).await.map(Served);
        Some((served, (listener, acceptor)))
    });
    let collected = Collected::default();
    let service = MetricsServiceServer::new(collected.clone());
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let otlp = secured.export(&address, "grpc");
    let _registry = count(&otlp);
    otlp.stop();
    let told = format!("{:?}", collected.0.lock());
    assert!(told.contains("quorate_store_transactions_total"), "{told}");
}

/// A collector that takes connections and never answers holds up neither what is counted nor the
/// stop; what is counted meanwhile takes no room of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_hangs_blocks_nothing() {
    let listener = listen().await;
    let endpoint = format!("http://{}", listener.address());
    let identity = identity();
    let otlp = Otlp::start(Some(&endpoint), &SystemEnv::env(), &identity).unwrap().unwrap();
    let registry = count(&otlp);
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((io, _)) = listener.accept().await {
            held.push(io);
        }
    });
    let (begin, phases) =
        (Instant::now(), registry.histogram::<1>("quorate_write_phase_duration_seconds"));
    (0..100_000).for_each(|_| phases.observe(["admit"], 0.5));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    let begin = Instant::now();
    otlp.stop();
    assert!(begin.elapsed() < SDK_STOP + Duration::from_secs(3), "{:?}", begin.elapsed());
    held.abort();
}
