//! The HTTP client of buckets: over the network's seam, with TLS by ring, one connection for each call
//! that runs.
//!
//! Invariants: an answer's head comes within the timeout, and so does each part of its body; TLS
//! verifies the host of the URL by the authorities of the platform. A connection is used again while
//! its answers are read to their end.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use http::Uri;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, Result};
use quorate_env::{Io, Network};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::RemoteOptions;

/// How long a connection without a call is kept.
const IDLE: Duration = Duration::from_secs(20);

/// Makes clients for `object_store`.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    dialer: Dialer,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(options: &RemoteOptions) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(options.roots.iter().cloned());
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the ciphers of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let dialer = Dialer { network: options.network.clone(), tls: Arc::new(tls) };
        Self { dialer, timeout: options.timeout }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(self.dialer.clone());
        Ok(HttpClient::new(BucketClient { client, timeout: self.timeout }))
    }
}

struct BucketClient {
    client: Client<Dialer, HttpRequestBody>,
    timeout: Duration,
}

impl fmt::Debug for BucketClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BucketClient")
    }
}

#[async_trait]
impl HttpService for BucketClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = timeout(self.timeout, self.client.request(request)).await;
        let answer = answer.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?;
        let answer = answer.map_err(|error| {
            let kind = match error.is_connect() {
                true => HttpErrorKind::Connect,
                false => HttpErrorKind::Request,
            };
            HttpError::new(kind, error)
        })?;
        let (head, body) = answer.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        let limit = self.timeout;
        // Each part is waited for no longer than the answer was.
        let parts = futures::stream::unfold(Some(body), move |body| async move {
            let mut body = body?;
            match timeout(limit, body.frame()).await {
                Ok(Some(Ok(frame))) => Some((Ok(frame), Some(body))),
                Ok(Some(Err(error))) => Some((Err(error), None)),
                Ok(None) => None,
                Err(late) => Some((Err(HttpError::new(HttpErrorKind::Timeout, late)), None)),
            }
        });
        let body = http_body_util::StreamBody::new(parts.fuse());
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}

/// Opens connections.
#[derive(Debug, Clone)]
struct Dialer {
    network: Arc<dyn Network>,
    tls: Arc<ClientConfig>,
}

impl Dialer {
    async fn dial(self, uri: Uri) -> io::Result<TokioIo<BucketStream>> {
        let host = uri.host().unwrap_or_default();
        let is_tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let stream = self.network.connect(&format!("{host}:{port}")).await?;
        if !is_tls {
            return Ok(TokioIo::new(BucketStream(stream)));
        }
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(io::Error::other)?;
        let stream = TlsConnector::from(self.tls).connect(name, stream).await?;
        Ok(TokioIo::new(BucketStream(Box::new(stream))))
    }
}

impl tower::Service<Uri> for Dialer {
    type Response = TokioIo<BucketStream>;
    type Error = io::Error;
    type Future = futures::future::BoxFuture<'static, io::Result<TokioIo<BucketStream>>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().dial(uri))
    }
}

/// A connection to a bucket.
struct BucketStream(Box<dyn Io>);

impl Connection for BucketStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for BucketStream {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for BucketStream {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_shutdown(context)
    }
}
