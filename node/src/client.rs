//! An HTTP client of one TLS connection, for `dev`'s readiness check, `bench` and webhooks.
//!
//! Invariant: a connection is to one server and is not opened again by itself; the caller decides
//! what a failure means. It follows no redirects and keeps no cookies.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_env::Network;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::error::Error;

/// Offered protocols of a client that wants HTTP/2 when it can have it.
pub(crate) const HTTP_2: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Offered protocols of a client that wants HTTP/1.1.
pub(crate) const HTTP_1: [&[u8]; 1] = [b"http/1.1"];

/// The HTTP/2 flow-control windows of this client: 4 MiB a stream, 16 MiB a connection.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// An open connection.
#[derive(Debug)]
pub(crate) enum Connection {
    /// HTTP/1.1: one request at a time.
    Http1(http1::SendRequest<Full<Bytes>>),
    /// HTTP/2: many at a time; clones share the connection.
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Another handle of the same connection, where the protocol allows several requests at a time.
    pub(crate) fn share(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
        }
    }

    /// Connects to `host:port`.
    ///
    /// # Errors
    /// [`Error::Config`] when the server's certificate is not trusted: a retry would fail in the
    /// same way.
    pub(crate) async fn open(
        network: &dyn Network,
        address: &str,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, Error> {
        let unreachable =
            |error: &dyn std::fmt::Display| Error::failed(format_args!("{address}: {error}"));
        let host =
            address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(|error| unreachable(&error))?;
        let tcp = network.connect(address).await.map_err(|error| unreachable(&error))?;
        let stream = TlsConnector::from(tls).connect(name, tcp).await.map_err(|error| {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            match cause {
                Some(rustls::Error::InvalidCertificate(_)) => {
                    Error::config(format_args!("{address}: {error}"))
                }
                _ => unreachable(&error),
            }
        })?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        if is_http2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(STREAM_WINDOW_BYTES)
                .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
                .handshake(io)
                .await
                .map_err(|error| unreachable(&error))?;
            tokio::spawn(connection);
            Ok(Self::Http2(sender))
        } else {
            let (sender, connection) =
                http1::handshake(io).await.map_err(|error| unreachable(&error))?;
            tokio::spawn(connection);
            Ok(Self::Http1(sender))
        }
    }

    /// Sends a request and returns the head of the answer.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        match self {
            Self::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}
