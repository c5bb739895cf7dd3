//! Audit events of requests that end early: the client disconnects, or the server fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_api::server::{ApiServer, Handle, Limits, Options, ServerTls, TlsFiles};
use quorate_env::SystemEnv;
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Outcome, Store, Txn};
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use super::{MAPS, Trail};
use crate::harness::{Server, TestClock};
use crate::tls::{Authority, client_config};

/// A store whose transactions go wrong from some moment on.
struct Ailing {
    inner: MemoryStore,
    /// Transactions never come to an end.
    stuck: AtomicBool,
    /// Notified of each transaction that gets stuck.
    begun: Notify,
    /// Transactions panic.
    broken: AtomicBool,
}

#[async_trait]
impl Layer for Ailing {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        assert!(!self.broken.load(Ordering::Relaxed), "this store is broken");
        if self.stuck.load(Ordering::Relaxed) {
            self.begun.notify_one();
            std::future::pending::<()>().await;
        }
        self.inner.txn(txn).await
    }
}

/// A trail of everything, and the store below it.
async fn ailing() -> (Trail, Arc<Ailing>) {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Ailing {
        inner,
        stuck: AtomicBool::new(false),
        begun: Notify::new(),
        broken: AtomicBool::new(false),
    });
    let trail =
        Trail::start_at(Server::over(store.clone(), clock), "rules: [{level: Metadata}]").await;
    (trail, store)
}

#[tokio::test]
async fn a_handler_that_panics_is_told_as_such() {
    let (trail, store) = ailing().await;
    store.broken.store(true, Ordering::Relaxed);
    let body = json!({"metadata": {"name": "x"}}).to_string();
    assert_eq!(trail.server.send(Method::POST, MAPS, &[], body).await.status, 500);
    store.broken.store(false, Ordering::Relaxed);
    trail.server.create("a", "y", &[]).await;
    let events = trail.events(MAPS).await;
    let stages: Vec<_> = events.iter().map(|event| event["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["RequestReceived", "Panic", "RequestReceived", "ResponseComplete"]);
    let status = &events[1]["responseStatus"];
    assert_eq!((&status["code"], &status["reason"]), (&json!(500), &json!("InternalError")));
    assert_eq!(events[1]["objectRef"]["resource"], "configmaps");
}

/// A real connection to the server of a trail.
struct Listening {
    authority: Authority,
    handle: Handle,
}

impl Listening {
    async fn start(trail: &Trail) -> Self {
        let authority = Authority::new("test CA");
        let (certificate, key) = authority.issue("server", None);
        let files = TlsFiles {
            certificate: certificate.into(),
            key: key.into(),
            client_authority: authority.pem.clone().into(),
            proxy_authority: None,
        };
        let options = Options {
            address: "127.0.0.1:0".into(),
            tls: Arc::new(ServerTls::new(&files).unwrap()),
            limits: Limits::default(),
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(1),
        };
        let (server, handle) = ApiServer::bind(trail.server.api.clone(), options).await.unwrap();
        tokio::spawn(server.run());
        Self { authority, handle }
    }

    /// Sends a request and hangs up at some moment, which the trail must tell then.
    async fn leave(
        &self,
        trail: &Trail,
        alpn: &[u8],
        request: Request<Full<Bytes>>,
        moment: impl Future<Output = ()>,
    ) {
        let admin = self.authority.issue("admin", Some("system:masters"));
        let mut config = client_config(&self.authority.pem, Some(admin));
        config.alpn_protocols = vec![alpn.to_vec()];
        let io = SystemEnv::env().network.connect(self.handle.address()).await.unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let io = TokioIo::new(
            connector.connect(ServerName::try_from("localhost").unwrap(), io).await.unwrap(),
        );
        let uri = request.uri().path_and_query().unwrap().to_string();
        if alpn == b"h2" {
            let (mut client, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            let connection = tokio::spawn(connection);
            let answer = tokio::spawn(async move { client.send_request(request).await });
            moment.await;
            answer.abort();
            connection.abort();
        } else {
            let (mut client, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
            let connection = tokio::spawn(connection);
            let answer = tokio::spawn(async move { client.send_request(request).await });
            moment.await;
            answer.abort();
            connection.abort();
        }
        trail.told(&uri, "ResponseComplete").await;
    }
}

#[tokio::test]
async fn who_leaves_before_the_answer_is_told_to_have_left() {
    let (trail, store) = ailing().await;
    let listening = Listening::start(&trail).await;
    store.stuck.store(true, Ordering::Relaxed);
    for alpn in [&b"h2"[..], b"http/1.1"] {
        let uri = format!("https://localhost{MAPS}?by={}", alpn.len());
        let body = json!({"metadata": {"name": "x"}}).to_string();
        let request = Request::post(uri).body(Full::from(body)).unwrap();
        listening.leave(&trail, alpn, request, store.begun.notified()).await;
    }
    let events = trail.events(MAPS).await;
    let stages: Vec<_> = events.iter().map(|event| event["stage"].as_str().unwrap()).collect();
    assert_eq!(
        stages,
        ["RequestReceived", "ResponseComplete", "RequestReceived", "ResponseComplete"]
    );
    for event in [&events[1], &events[3]] {
        let expect = json!({"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200});
        assert_eq!(event["responseStatus"], expect);
        assert_eq!(event["annotations"]["authorization.svc.io/decision"], "allow");
    }
}

#[tokio::test]
async fn who_leaves_a_watch_ends_it() {
    let (trail, _) = ailing().await;
    let listening = Listening::start(&trail).await;
    for alpn in [&b"h2"[..], b"http/1.1"] {
        let path = format!("{MAPS}?watch=1&resourceVersion=1&by={}", alpn.len());
        let request =
            Request::get(format!("https://localhost{path}")).body(Full::default()).unwrap();
        listening.leave(&trail, alpn, request, trail.told(&path, "ResponseStarted")).await;
    }
    let events = trail.events(MAPS).await;
    let stages: Vec<_> = events.iter().map(|event| event["stage"].as_str().unwrap()).collect();
    let one = ["RequestReceived", "ResponseStarted", "ResponseComplete"];
    assert_eq!(stages, [one, one].concat());
    assert!(events.iter().all(|event| event["verb"] == "watch"));
}
