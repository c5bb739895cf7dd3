//! A webhook server for tests, which does what a script says: real TLS on loopback, HTTP/2 or
//! HTTP/1.1.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use quorate_env::{Io, Network, SystemEnv};
use quorate_meta::Value;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_stream::StreamExt;

type Body = BoxBody<Bytes, String>;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Does {
    /// Answers with this status and text.
    Answers(u16, &'static str),
    /// Answers with what this makes of the body of the request.
    Makes(fn(&[u8]) -> String),
    /// Answers with a body of this length, and closes nothing.
    Fills(usize),
    /// Answers with a body that never ends, a byte at a time.
    Trickles,
    /// Answers with a body that breaks.
    Breaks,
    /// Never answers.
    Hangs,
    /// Writes these bytes and closes.
    Writes(&'static [u8]),
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The version of HTTP.
    pub version: http::Version,
    /// Path and query.
    pub uri: String,
    /// The header.
    pub content_type: String,
    /// The trace context; empty where there is none.
    pub traceparent: String,
    /// What goes with it; likewise.
    pub tracestate: String,
    /// The baggage; likewise.
    pub baggage: String,
    /// The body.
    pub body: Bytes,
}

#[derive(Debug, Default)]
struct Seen {
    script: Mutex<VecDeque<Does>>,
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
}

/// The server; it stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// `host:port`.
    pub address: String,
    /// The certificate of the authority that its own is from, in PEM.
    pub authority: String,
    seen: Arc<Seen>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// A server of HTTP/2 and HTTP/1.1.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start() -> Self {
        Self::start_with(&[b"h2", b"http/1.1"]).await
    }

    /// A server of these protocols.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start_with(protocols: &[&[u8]]) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let names = ["127.0.0.1", "hook.ns.svc"].map(str::to_owned).to_vec();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key.into())
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = SystemEnv.listen("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.address(), Arc::<Seen>::default());
        let shared = seen.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, shared.clone()));
            }
        });
        Self { address, authority: authority.pem(), seen, accepting }
    }

    /// What is done with the next requests; those after them hang.
    pub fn then(&self, script: &[Does]) {
        self.seen.script.lock().extend(script.iter().cloned());
    }

    /// What was sent since the last time this was asked.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.seen.asked.lock())
    }

    /// Connections that were ever opened.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// A `clientConfig` with its URL.
    pub fn url(&self, path: &str) -> Value {
        let bundle = STANDARD.encode(&self.authority);
        json!({"url": format!("https://{}{path}", self.address), "caBundle": bundle}).into()
    }

    /// A `clientConfig` of the Service with this name.
    pub fn service(&self, name: &str) -> Value {
        let bundle = STANDARD.encode(&self.authority);
        let service = json!({"namespace": "ns", "name": name, "path": "/convert"});
        json!({"service": service, "caBundle": bundle}).into()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(acceptor: TlsAcceptor, stream: Box<dyn Io>, seen: Arc<Seen>) {
    seen.connections.fetch_add(1, Ordering::SeqCst);
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    let raw = match seen.script.lock().front() {
        Some(Does::Writes(bytes)) => Some(*bytes),
        _ => None,
    };
    if let Some(bytes) = raw {
        seen.script.lock().pop_front();
        // A part of the request, so that the client waits for an answer.
        let mut some = [0; 16];
        let _ = stream.read(&mut some).await;
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        return;
    }
    let service = service_fn(move |request| answer(seen.clone(), request));
    let server = auto::Builder::new(TokioExecutor::new());
    // How it ends is the client's business.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

async fn answer(seen: Arc<Seen>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let header = |name: &str| {
        let value = head.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    };
    seen.asked.lock().push(Asked {
        version: head.version,
        uri: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        content_type: header("content-type"),
        traceparent: header("traceparent"),
        tracestate: header("tracestate"),
        baggage: header("baggage"),
        body: body.clone(),
    });
    let next = seen.script.lock().pop_front();
    let whole = |bytes: Bytes| Full::new(bytes).map_err(|never| match never {}).boxed();
    let (status, body): (u16, Body) = match next {
        Some(Does::Answers(status, text)) => (status, whole(text.into())),
        Some(Does::Makes(answer)) => (200, whole(answer(&body).into())),
        Some(Does::Fills(length)) => (200, whole(vec![b' '; length].into())),
        Some(Does::Trickles) => {
            let drops = tokio_stream::iter(0..).then(async |_: u32| {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(Frame::data(Bytes::from_static(b" ")))
            });
            (200, StreamBody::new(Box::pin(drops)).boxed())
        }
        Some(Does::Breaks) => {
            let parts = [Ok(Frame::data(Bytes::from_static(b"{"))), Err("broken".to_owned())];
            (200, StreamBody::new(tokio_stream::iter(parts)).boxed())
        }
        Some(Does::Hangs | Does::Writes(_)) | None => std::future::pending().await,
    };
    Ok(Response::builder().status(status).body(body).unwrap())
}
