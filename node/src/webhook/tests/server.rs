//! A webhook server for tests: real TLS, scripted answers, and a record of the requests.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use quorate_env::{Clock, Io, Network, SystemEnv};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::pki::{Authority, Identity, Subject, certificates};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Status this, with this status.
    Status(u16, String),
    /// The same, and closes the connection.
    StatusAndClose(u16, String),
    /// Never answers.
    Hang,
    /// Closes the connection without an answer.
    Close,
}

/// What the server was sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    /// Whether the client showed a certificate of the server's authority.
    pub(crate) certified: bool,
    pub(crate) body: Value,
}

#[derive(Debug, Default)]
struct State {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
}

/// The server; it stops when this is dropped.
pub(crate) struct ScriptedServer {
    authority: Authority,
    address: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl ScriptedServer {
    pub(crate) async fn start() -> Self {
        let authority = Authority::generate("webhook", now()).unwrap();
        let own =
            authority.issue(&Subject::Server { names: vec!["127.0.0.1".into()] }, now()).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&authority, &own)));
        let listener = SystemEnv.listen("127.0.0.1:0").await.unwrap();
        let (address, state) = (listener.address(), Arc::<State>::default());
        let shared = state.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, shared.clone()));
            }
        });
        Self { authority, address, state, accepting }
    }

    /// What is done with the next request that has no answer yet. A request without one is never
    /// answered.
    pub(crate) fn then(&self, answer: Answer) {
        self.state.answers.lock().push_back(answer);
    }

    /// What was sent since the last time this was asked.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.asked.lock())
    }

    /// Connections that were ever opened.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// A kubeconfig with a token.
    pub(crate) fn with_token(&self, folder: &Path, token: &str) -> PathBuf {
        let authority = &self.authority.identity().certificate;
        std::fs::write(folder.join("ca.pem"), authority).unwrap();
        let config = json!({
            "clusters": [{"name": "c", "cluster": {
                "server": format!("https://{}/decide?x=y", self.address), "certificate-authority": "ca.pem",
            }}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        });
        written(folder, &config.to_string())
    }

    /// A kubeconfig with a client certificate of the server's authority.
    pub(crate) fn with_certificate(&self, folder: &Path) -> PathBuf {
        let subject = Subject::Client { user: "node".into(), group: None };
        let identity = self.authority.issue(&subject, now()).unwrap();
        self.config(folder, &self.authority, &identity)
    }

    /// A kubeconfig that trusts another authority.
    pub(crate) fn with_other_authority(&self, folder: &Path) -> PathBuf {
        let other = Authority::generate("other", now()).unwrap();
        let identity =
            other.issue(&Subject::Client { user: "node".into(), group: None }, now()).unwrap();
        self.config(folder, &other, &identity)
    }

    fn config(&self, folder: &Path, authority: &Authority, identity: &Identity) -> PathBuf {
        let server = format!("https://{}", self.address);
        written(
            folder,
            &crate::kubeconfig::text(&server, &authority.identity().certificate, "node", identity),
        )
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn now() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(i64::try_from(SystemEnv.now_ms() / 1000).unwrap()).unwrap()
}

fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("webhook.kubeconfig");
    std::fs::write(&path, text).unwrap();
    path
}

fn server_config(authority: &Authority, own: &Identity) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&authority.identity().certificate).unwrap() {
        roots.add(certificate).unwrap();
    }
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let clients = clients.allow_unauthenticated().build().unwrap();
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    builder
        .with_client_cert_verifier(clients)
        .with_single_cert(own.chain().unwrap(), own.private_key().unwrap())
        .unwrap()
}

async fn serve(acceptor: TlsAcceptor, stream: Box<dyn Io>, state: Arc<State>) {
    state.connections.fetch_add(1, Ordering::SeqCst);
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let certified = stream.get_ref().1.peer_certificates().is_some();
    let service = service_fn(move |request| answer(state.clone(), certified, request));
    // How it ends is the client's business.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

async fn answer(
    state: Arc<State>,
    certified: bool,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, String> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let authorization =
        head.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let next = state.answers.lock().pop_front();
    state.asked.lock().push(Asked { path, authorization, certified, body });
    match next.unwrap_or(Answer::Hang) {
        Answer::Status(status, text) => {
            Ok(Response::builder().status(status).body(text.into()).unwrap())
        }
        Answer::StatusAndClose(status, text) => Ok(Response::builder()
            .status(status)
            .header("connection", "close")
            .body(text.into())
            .unwrap()),
        Answer::Close => Err("as the script says".to_owned()),
        Answer::Hang => std::future::pending().await,
    }
}
