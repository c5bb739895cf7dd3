//! A small HTTP/1.1 client with a client certificate: one connection, opened again when it breaks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use quorate_env::{Io, Network, SystemEnv};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio_rustls::client::TlsStream;

/// After this long without an answer the outcome counts as unknown.
const LIMIT: Duration = Duration::from_secs(15);

/// The header of W3C's trace context.
const TRACEPARENT: &str = "traceparent";

/// An answer that arrived whole.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    /// `metadata.resourceVersion` of the body.
    pub(crate) fn revision(&self) -> u64 {
        let text = self.body["metadata"]["resourceVersion"].as_str();
        text.unwrap_or_else(|| panic!("no resourceVersion in {}", self.body)).parse().unwrap()
    }

    /// The answer itself when its status is this; a panic that shows it otherwise.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }
}

/// The client.
pub(crate) struct Client {
    address: String,
    tls: Arc<ClientConfig>,
    /// The Authorization header of every request.
    authorization: Option<String>,
    /// Further headers of every request.
    headers: Vec<(&'static str, String)>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// A client of one server, with the credentials in a folder: `ca.crt` and `NAME.{crt,key}`.
    pub(crate) fn new(address: &str, pki: &Path, name: &str) -> Self {
        Self::with(address, tls(pki, Some(name)))
    }

    /// A client without a certificate of its own.
    pub(crate) fn anonymous(address: &str, pki: &Path) -> Self {
        Self::with(address, tls(pki, None))
    }

    fn with(address: &str, tls: Arc<ClientConfig>) -> Self {
        Self {
            address: address.to_owned(),
            tls,
            authorization: None,
            headers: vec![],
            sender: None,
        }
    }

    /// A client whose only credential is a bearer token.
    pub(crate) fn bearer(address: &str, pki: &Path, token: &str) -> Self {
        Self { authorization: Some(format!("Bearer {token}")), ..Self::anonymous(address, pki) }
    }

    /// The same client, which says this with every request.
    pub(crate) fn saying(self, headers: &[(&'static str, &'static str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Self { headers: headers.collect(), ..self }
    }

    /// Makes the requests from now on parts of this trace, whose client records it.
    pub(crate) fn trace(&mut self, parent: String) {
        self.headers.retain(|(name, _)| *name != TRACEPARENT);
        self.headers.push((TRACEPARENT, parent));
    }

    /// Whether the server says that it is ready.
    pub(crate) async fn is_ready(&mut self) -> bool {
        self.send(Method::GET, "/readyz", None).await.is_ok_and(|answer| answer.status == 200)
    }

    /// Sends a request and waits for the whole answer. An error leaves it open what the server did.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let attempt = async {
            let answer = self.start(method, path, body).await?;
            let status = answer.status().as_u16();
            let bytes =
                answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
            let body = serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
            Ok(Answer { status, body })
        };
        let result = tokio::time::timeout(LIMIT, attempt)
            .await
            .unwrap_or_else(|_| Err("no answer".to_owned()));
        if result.is_err() {
            self.sender = None;
        }
        result
    }

    /// Sends a request and returns the head of the answer, for streams.
    pub(crate) async fn start(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<http::Response<Incoming>, String> {
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            self.sender = Some(self.connect().await?);
        }
        let sender = self.sender.as_mut().expect("connected just now");
        let content_type = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let mut request = Request::builder().method(method).uri(path);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request
            .header("host", &self.address)
            .header("accept", "application/json")
            .header("content-type", content_type)
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()))
            .unwrap();
        sender.ready().await.map_err(|error| error.to_string())?;
        sender.send_request(request).await.map_err(|error| error.to_string())
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await.unwrap()
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await.unwrap()
    }

    /// Sends the head of a POST and less of a body than it announces. The server waits for the rest
    /// as long as the connection is kept.
    pub(crate) async fn begin_post(&self, path: &str) -> TlsStream<Box<dyn Io>> {
        let mut stream = self.open().await.unwrap();
        let authorization = self.authorization.as_deref().unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {authorization}\r\n\
             content-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
            self.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let (sender, connection) =
            handshake(TokioIo::new(self.open().await?)).await.map_err(|e| e.to_string())?;
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn open(&self) -> Result<TlsStream<Box<dyn Io>>, String> {
        self.stream().await.map_err(|error| error.to_string())
    }

    async fn stream(&self) -> std::io::Result<TlsStream<Box<dyn Io>>> {
        let tcp = SystemEnv.connect(&self.address).await?;
        let host = self.address.rsplit_once(':').unwrap().0.to_owned();
        let connector = tokio_rustls::TlsConnector::from(self.tls.clone());
        connector.connect(host.try_into().unwrap(), tcp).await
    }
}

fn tls(pki: &Path, name: Option<&str>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(pki.join("ca.crt")).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
    Arc::new(match name {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let chain = CertificateDer::pem_file_iter(pki.join(format!("{name}.crt")))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let key = PrivateKeyDer::from_pem_file(pki.join(format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    })
}
