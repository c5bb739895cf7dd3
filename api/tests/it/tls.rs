//! A server on a real socket: TLS, client certificates, HTTP/1.1 and HTTP/2, graceful shutdown.

mod connection_ends;
mod odd_certificates;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_api::server::{ApiServer, Handle, Limits, Options, ServerTls, TlsFiles};
use quorate_env::{Network, SystemEnv, VanishingNetwork};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, HandshakeKind, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::Server;

/// A certificate authority.
pub(crate) struct Authority {
    /// Its certificate.
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Certificate and key (PEM) of a subject.
    pub(crate) fn issue(&self, name: &str, group: Option<&str>) -> (String, String) {
        self.issue_with(name, group, |_| {})
    }

    /// The same, with something changed.
    pub(crate) fn issue_with(
        &self,
        name: &str,
        group: Option<&str>,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// Certificate and key (PEM) of a client whose certificate is self-signed.
pub(crate) fn self_issued(name: &str, group: &str) -> (String, String) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.distinguished_name.push(DnType::OrganizationName, group);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

struct Running {
    authority: Authority,
    server: Server,
    tls: Arc<ServerTls>,
    handle: Handle,
    task: JoinHandle<()>,
}

/// PEM texts of a server certificate of this authority.
fn files(authority: &Authority) -> TlsFiles {
    let (certificate, key) = authority.issue("server", None);
    TlsFiles {
        certificate: certificate.into(),
        key: key.into(),
        client_authority: authority.pem.clone().into(),
        proxy_authority: None,
    }
}

async fn start() -> Running {
    start_with(Limits::default()).await
}

async fn start_with(limits: Limits) -> Running {
    let authority = Authority::new("test CA");
    let tls = Arc::new(ServerTls::new(&files(&authority)).unwrap());
    let options = Options {
        address: "127.0.0.1:0".into(),
        tls: tls.clone(),
        limits,
        shutdown_delay: Duration::ZERO,
        shutdown_grace: Duration::from_secs(10),
    };
    let server = Server::with_namespace().await;
    let (listening, handle) = ApiServer::bind(server.api.clone(), options).await.unwrap();
    Running { authority, server, tls, handle, task: tokio::spawn(listening.run()) }
}

impl Running {
    async fn connect(
        &self,
        subject: Option<(String, String)>,
        alpn: &[u8],
    ) -> std::io::Result<TlsStream<impl quorate_env::Io + use<>>> {
        let mut config = client_config(&self.authority.pem, subject);
        config.alpn_protocols = vec![alpn.to_vec()];
        let io = SystemEnv::env().network.connect(self.handle.address()).await?;
        TlsConnector::from(Arc::new(config))
            .connect(ServerName::try_from("localhost").unwrap(), io)
            .await
    }

    /// A client of HTTP/2 on a connection of its own, and how the handshake went.
    async fn client(
        &self,
        config: &Arc<ClientConfig>,
    ) -> (SendRequest<Empty<Bytes>>, Option<HandshakeKind>) {
        let io = SystemEnv::env().network.connect(self.handle.address()).await.unwrap();
        let connector = TlsConnector::from(config.clone());
        let stream =
            connector.connect(ServerName::try_from("localhost").unwrap(), io).await.unwrap();
        let kind = stream.get_ref().1.handshake_kind();
        let (client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        tokio::spawn(connection);
        (client, kind)
    }
}

/// The TLS configuration of a client that trusts this authority (PEM) and presents this subject's
/// certificate; the key may belong to another one.
pub(crate) fn client_config(authority: &str, subject: Option<(String, String)>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
    match subject {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            let certified = CertifiedKey::new(chain, any_supported_type(&key).unwrap());
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
    }
}

fn request(path: &str) -> Request<Empty<Bytes>> {
    Request::builder().uri(format!("https://localhost{path}")).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn both_protocols_and_who_asks() {
    let running = start().await;
    let admin = running.authority.issue("admin", Some("system:masters"));
    let stream = running.connect(Some(admin), b"h2").await.unwrap();
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    let answer = client.send_request(request("/api/v1/namespaces/a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(
        String::from_utf8_lossy(&body)
            .starts_with("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",")
    );
    let mut head = request("/api/v1/namespaces/a");
    *head.method_mut() = Method::HEAD;
    let answer = client.send_request(head).await.unwrap();
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "");

    for (subject, status) in [(Some(running.authority.issue("joe", None)), 403), (None, 401)] {
        let stream = running.connect(subject, b"http/1.1").await.unwrap();
        let (mut client, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let answer = client.send_request(request("/api/v1/namespaces/a")).await.unwrap();
        assert_eq!(answer.status(), status);
    }
}

#[tokio::test]
async fn an_authority_may_be_a_client_itself() {
    let running = start().await;
    let check = async |of: &Authority, expect: u16| {
        let subject = (of.pem.clone(), of.issuer.key().serialize_pem());
        let mut config = client_config(&running.authority.pem, Some(subject));
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (mut client, _) = running.client(&Arc::new(config)).await;
        assert_eq!(code(&mut client).await, expect);
    };
    check(&running.authority, 403).await;
    check(&Authority::new("test CA"), 401).await;
}

/// The code of an answer, which has come whole.
async fn code(client: &mut SendRequest<Empty<Bytes>>) -> StatusCode {
    let answer = client.send_request(request("/api/v1/namespaces/a")).await.unwrap();
    let code = answer.status();
    answer.into_body().collect().await.unwrap();
    code
}

#[tokio::test]
async fn a_certificate_ends_on_an_open_connection_too() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let running = start().await;
    // A day after the time of the test, by which requests are judged; handshakes are by the
    // machine's, which is earlier.
    let end = |params: &mut CertificateParams| params.not_after = date_time_ymd(2030, 1, 2);
    let admin = running.authority.issue_with("admin", Some("system:masters"), end);
    let mut config = client_config(&running.authority.pem, Some(admin));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let (mut open, _) = running.client(&config).await;
    assert_eq!(code(&mut open).await, 200);
    running.server.clock.advance(DAY_MS);
    assert_eq!(code(&mut open).await, 200, "its last moment");
    let (_, kind) = running.client(&config).await;
    assert_eq!(kind, Some(HandshakeKind::Full), "the client is verified again");
    running.server.clock.advance(1);
    assert_eq!(code(&mut open).await, 401);
    let (mut other, _) = running.client(&config).await;
    assert_eq!(code(&mut other).await, 401);
}

/// A request with so many lines of groups.
fn long_request(lines: usize) -> Request<Empty<Bytes>> {
    let mut request = request("/api/v1/namespaces/a");
    for line in 0..lines {
        request.headers_mut().append("x-remote-group", format!("g{line}").parse().unwrap());
    }
    request
}

#[tokio::test]
async fn a_request_may_have_very_many_lines() {
    let running = start().await;
    let admin = || Some(running.authority.issue("admin", Some("system:masters")));
    let stream = running.connect(admin(), b"http/1.1").await.unwrap();
    let (mut client, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(client.send_request(long_request(1000)).await.unwrap().status(), 200);
    let mut config = client_config(&running.authority.pem, admin());
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (mut client, _) = running.client(&Arc::new(config)).await;
    for (lines, expect) in [(2500, 200), (6000, 431), (1, 200)] {
        assert_eq!(
            client.send_request(long_request(lines)).await.unwrap().status(),
            expect,
            "{lines}"
        );
    }
}

#[tokio::test]
async fn certificates_are_replaced_while_running() {
    let running = start().await;
    let before = running.connect(None, b"h2").await.unwrap();
    let other = Authority::new("another CA");
    running.tls.replace(&files(&other)).unwrap();
    assert!(
        running.connect(None, b"h2").await.is_err(),
        "the new certificate is of a CA that this client does not know"
    );
    running
        .tls
        .replace(&TlsFiles { key: b"nonsense".to_vec(), ..files(&running.authority) })
        .unwrap_err();
    running.tls.replace(&files(&running.authority)).unwrap();
    let after = running.connect(None, b"h2").await.unwrap();
    let leaf = |stream: &TlsStream<_>| stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
    assert!(leaf(&before) != leaf(&after));
}
