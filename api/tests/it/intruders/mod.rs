//! Intruders' requests: wrong tokens, certificates of others, headers and ambiguous paths, peers
//! that waste time, over HTTP/1.1 and HTTP/2. Every attempt is refused, over a real connection;
//! each test says how many it made.
//!
//! What "refused" means: no answer with a code below 400, and nothing of the secret in what comes.
//! Where an intruder who got in might have no rights, exactly one code is expected.

mod connections;
mod frames;
mod headers;
mod principals;
mod squatters;
mod streams;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use quorate_access::authentication::{AuthenticationOptions, ProxyOptions, StaticTokens};
use quorate_api::server::{ApiServer, Handle, Limits, Options, ServerTls, TlsFiles};
use quorate_env::{Io, SystemEnv};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::Server;
use crate::tls::{Authority, client_config};

/// The content of the secret, which no answer to an intruder may have.
const TREASURE: &str = "dHJlYXN1cmU=";
const SECRET: &str = "/api/v1/namespaces/a/secrets/treasure";
const NAMESPACE: &str = "/api/v1/namespaces/a";
const ROLES: &str = "/apis/rbac.authorization.svc.io/v1/namespaces/a";
/// A token of ann, who has no rights.
const ANN: (&str, &str) = ("Authorization", "Bearer static-secret");
/// A token of eve, who may read the secret.
const EVE: (&str, &str) = ("Authorization", "Bearer reader-secret");
const TOKENS: &str = "static-secret,ann,1,dev\nreader-secret,eve,2";
/// Attempts of a client that gets no answer.
const ATTEMPTS: usize = 3;
/// No attempt may take longer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time limit of a handshake and of a request's head.
const SHORT: Duration = Duration::from_secs(2);

/// A server with a secret, an account, and all ways of proving who one is.
struct Castle {
    server: Server,
    authority: Authority,
    proxies: Authority,
    handle: Handle,
}

type Subject = Option<(String, String)>;
type Stream = TlsStream<Box<dyn Io>>;

fn limits() -> Limits {
    Limits { handshake: SHORT, header: SHORT, ..Limits::default() }
}

impl Castle {
    async fn new() -> Self {
        Self::with(ProxyOptions::default(), limits()).await
    }

    /// One that lets anonymous requests in.
    async fn open() -> Self {
        let options = AuthenticationOptions { anonymous: true, ..AuthenticationOptions::default() };
        Self::of(options, limits()).await
    }

    async fn with(proxy: ProxyOptions, limits: Limits) -> Self {
        Self::of(AuthenticationOptions { proxy, ..AuthenticationOptions::default() }, limits).await
    }

    async fn of(authentication: AuthenticationOptions, limits: Limits) -> Self {
        let server = Server::with_authentication(AuthenticationOptions {
            static_tokens: StaticTokens::parse(TOKENS).unwrap(),
            ..authentication
        });
        server.defaults().await.stop();
        server.namespace("a").await;
        let (authority, proxies) = (Authority::new("client CA"), Authority::new("proxy CA"));
        let (certificate, key) = authority.issue("server", None);
        let files = TlsFiles {
            certificate: certificate.into(),
            key: key.into(),
            client_authority: authority.pem.clone().into(),
            proxy_authority: Some(proxies.pem.clone().into()),
        };
        let options = Options {
            address: "127.0.0.1:0".into(),
            tls: Arc::new(ServerTls::new(&files).unwrap()),
            limits,
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(1),
        };
        let (listening, handle) = ApiServer::bind(server.api.clone(), options).await.unwrap();
        tokio::spawn(listening.run());
        let castle = Self { server, authority, proxies, handle };
        let treasure = json!({"metadata": {"name": "treasure"}, "data": {"gold": TREASURE}});
        let role = json!({"metadata": {"name": "reader"},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
        let binding = json!({"metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.svc.io", "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "User", "name": "eve"}]});
        castle.make(&format!("{NAMESPACE}/secrets"), treasure).await;
        castle
            .make(&format!("{NAMESPACE}/serviceaccounts"), json!({"metadata": {"name": "robot"}}))
            .await;
        castle.make(&format!("{ROLES}/roles"), role).await;
        castle.make(&format!("{ROLES}/rolebindings"), binding).await;
        castle
    }

    async fn make(&self, collection: &str, object: Value) -> Value {
        let answer = self.server.send(Method::POST, collection, &[], object.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    fn config(&self, subject: Subject) -> ClientConfig {
        client_config(&self.authority.pem, subject)
    }

    /// A connection after its handshake; `None` when it does not come to that.
    async fn connect(&self, config: ClientConfig) -> Option<Stream> {
        let io = SystemEnv::env().network.connect(self.handle.address()).await.ok()?;
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(ServerName::try_from("localhost").unwrap(), io).await.ok()
    }

    /// The server's answer to this text; empty when the connection ends without an answer.
    async fn say(&self, subject: Subject, text: &str) -> String {
        let attempt = async {
            let mut stream = self.connect(self.config(subject)).await?;
            // The server may close the connection while the text is still on its way.
            let _ = stream.write_all(text.as_bytes()).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            Some(String::from_utf8_lossy(&answer).into_owned())
        };
        timeout(PATIENCE, attempt).await.expect("an attempt ends").unwrap_or_default()
    }

    /// A GET with these headers; gives the status code, 0 for none. The server's limits are short,
    /// and a machine may be slow: a client that gets no answer tries again.
    async fn get(&self, subject: Subject, path: &str, headers: &[(&str, &str)]) -> u16 {
        for _ in 1..ATTEMPTS {
            let code = self.get_once(subject.clone(), path, headers).await;
            if code != 0 {
                return code;
            }
        }
        self.get_once(subject, path, headers).await
    }

    async fn get_once(&self, subject: Subject, path: &str, headers: &[(&str, &str)]) -> u16 {
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let text =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        let answer = self.say(subject, &text).await;
        let code: u16 = answer.split(' ').nth(1).map_or(0, |code| code.parse().unwrap());
        assert!(code == 200 || !answer.contains(TREASURE), "{path}: {answer}");
        code
    }

    #[track_caller]
    fn refused(what: &str, code: u16) -> usize {
        assert!(code == 0 || code >= 400, "{what} got {code}");
        1
    }

    /// Refused in this way and in no other.
    #[track_caller]
    fn refused_with(what: &str, code: u16, expect: u16) -> usize {
        assert_eq!(code, expect, "{what}");
        1
    }
}
