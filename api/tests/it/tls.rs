//! A server on a real socket: TLS, client certificates, HTTP/1.1 and HTTP/2, graceful shutdown.

mod odd_certificates;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_api::server::{ApiServer, Handle, Limits, Options, ServerTls, TlsFiles};
use quorate_env::SystemEnv;
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

#[tokio::test]
async fn a_drain_ends_watches_and_connections() {
    let running = start().await;
    let admin = running.authority.issue("admin", Some("system:masters"));
    let stream = running.connect(Some(admin), b"h2").await.unwrap();
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let answer = client.send_request(request("/api/v1/namespaces?watch=1")).await.unwrap();
    let mut body = answer.into_body();
    assert!(
        body.frame()
            .await
            .unwrap()
            .unwrap()
            .into_data()
            .unwrap()
            .starts_with(b"{\"type\":\"ADDED\"")
    );
    running.handle.shutdown();
    assert!(body.collect().await.unwrap().to_bytes().is_empty(), "the watch ends cleanly");
    let limit = Duration::from_secs(5);
    timeout(limit, running.task).await.expect("the server stops").unwrap();
    timeout(limit, connection).await.expect("the connection ends").unwrap().unwrap();
}

#[tokio::test]
async fn who_watches_may_take_nothing_for_longer_than_others() {
    const OBJECTS: usize = 40;
    /// All of them together are more than sockets hold.
    const VALUE_BYTES: usize = 500_000;
    let short = Duration::from_millis(300);
    let running = start_with(Limits {
        stall: short,
        watch_stall: Duration::from_secs(60),
        ..Limits::default()
    })
    .await;
    let admin = running.authority.issue("admin", Some("system:masters"));
    let ask = async |query: &str| {
        let mut stream = running.connect(Some(admin.clone()), b"http/1.1").await.unwrap();
        let head = format!(
            "GET /api/v1/namespaces/a/configmaps{query} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let mut watch = ask("?watch=1&resourceVersion=1").await;
    let value = "x".repeat(VALUE_BYTES);
    for number in 0..OBJECTS {
        let object =
            json!({"metadata": {"name": format!("m{number}")}, "data": {"k": value}}).to_string();
        let answer =
            running.server.send(Method::POST, "/api/v1/namespaces/a/configmaps", &[], object).await;
        assert_eq!(answer.status, StatusCode::CREATED);
    }
    let mut list = ask("").await;
    sleep(short * 4).await;
    let mut text = Vec::new();
    let _ =
        timeout(Duration::from_secs(60), list.read_to_end(&mut text)).await.expect("the list ends");
    assert!(text.len() < OBJECTS * VALUE_BYTES, "before its end");
    let (mut seen, mut buffer) = (0, vec![0; 1 << 20]);
    while seen < OBJECTS * VALUE_BYTES {
        let read = timeout(Duration::from_secs(60), watch.read(&mut buffer))
            .await
            .expect("the watch goes on")
            .unwrap();
        assert_ne!(read, 0, "the watch has ended after {seen} bytes");
        seen += buffer[..read].iter().filter(|byte| **byte == b'x').count();
    }
}

#[tokio::test]
async fn who_says_nothing_is_hung_up_on() {
    let short = Duration::from_millis(200);
    let running = start_with(Limits { handshake: short, header: short, ..Limits::default() }).await;
    let limit = Duration::from_secs(10);
    let mut silent = SystemEnv::env().network.connect(running.handle.address()).await.unwrap();
    let ended = timeout(limit, silent.read(&mut [0; 1])).await.expect("the handshake has a limit");
    assert!(matches!(ended, Ok(0) | Err(_)));
    let mut slow = running.connect(None, b"http/1.1").await.unwrap();
    slow.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\nslow: ").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(limit, slow.read_to_end(&mut answer)).await.expect("the header has a limit");
    assert!(!String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 2"));
    let mut mute = running.connect(None, b"h2").await.unwrap();
    mute.write_all(b"PRI * HTTP").await.unwrap();
    let _ = timeout(limit, mute.read_to_end(&mut answer))
        .await
        .expect("the preface of HTTP/2 has a limit");
}

#[tokio::test]
async fn who_is_never_let_in_is_hung_up_on() {
    let header = Duration::from_secs(2);
    let running = start_with(Limits { header, ..Limits::default() }).await;
    for requests in [0, 2] {
        let stream = running.connect(None, b"h2").await.unwrap();
        let (mut client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .unwrap();
        let connection = tokio::spawn(connection);
        for _ in 0..requests {
            assert_eq!(code(&mut client).await, 401);
        }
        let ended =
            timeout(header * 10, connection).await.expect("places of strangers have a limit");
        ended.unwrap().expect("the server takes its leave");
    }
    let mut config =
        client_config(&running.authority.pem, Some(running.authority.issue("joe", None)));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (mut known, _) = running.client(&Arc::new(config)).await;
    assert_eq!(code(&mut known).await, 403);
    sleep(header * 3).await;
    assert_eq!(code(&mut known).await, 403, "who is known may be silent");
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let running = start().await;
    let admin = || Some(running.authority.issue("admin", Some("system:masters")));
    let length = 4 << 20;
    for (subject, path, expect) in [
        (admin(), "/api/v1/namespaces/a/configmaps", "HTTP/1.1 413 "),
        (admin(), "/api/v1/namespaces/a/nothing", "HTTP/1.1 404 "),
        (None, "/api/v1/namespaces/a/configmaps", "HTTP/1.1 401 "),
    ] {
        let mut stream = running.connect(subject, b"http/1.1").await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; length]).await.expect("the server takes the body");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer and a clean end");
        assert!(answer.starts_with(expect.as_bytes()), "{}", String::from_utf8_lossy(&answer));
    }
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
