//! An HTTP client of one TLS connection.
//!
//! Invariants: an HTTP/2 server that no longer answers is noticed within [`PING_AFTER`] and
//! [`PONG_TIMEOUT`], whether it is asked for something or not. A connection is to one server and is
//! not opened again by itself; the caller decides what a failure means. It follows no redirects and
//! keeps no cookies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use quorate_env::Network;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::error::{CallError, Failure};

/// Offered protocols of a client that wants HTTP/2 when it can have it.
pub const HTTP_2: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Offered protocols of a client that wants HTTP/1.1.
pub const HTTP_1: [&[u8]; 1] = [b"http/1.1"];

/// The HTTP/2 flow-control windows of this client: 4 MiB a stream, 16 MiB a connection.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Silence after which an HTTP/2 server is asked whether it lives, and how long it may take to
/// answer. Less than webhooks may take by default, so that a call whose server is gone has time left
/// for another connection.
const PING_AFTER: Duration = Duration::from_secs(4);
const PONG_TIMEOUT: Duration = Duration::from_secs(3);

/// An open connection.
#[derive(Debug)]
pub enum Connection {
    /// HTTP/1.1: one request at a time.
    Http1(http1::SendRequest<Full<Bytes>>),
    /// HTTP/2: many at a time; clones share the connection.
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Another handle of the same connection, where the protocol allows several requests at a time.
    #[must_use]
    pub fn share(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
        }
    }

    /// Connects to `host:port` and expects a certificate for `name`, a host name or an address.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn open_as(
        network: &dyn Network,
        address: &str,
        name: &str,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, CallError> {
        let expected = ServerName::try_from(name.to_owned())
            .map_err(|error| CallError::new(Failure::Config, format_args!("{name}: {error}")))?;
        let tcp =
            network.connect(address).await.map_err(|error| CallError::dial(address, &error))?;
        let stream = TlsConnector::from(tls).connect(expected, tcp).await;
        let stream = stream.map_err(|error| CallError::handshake(name, &error))?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        if is_http2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .keep_alive_interval(PING_AFTER)
                .keep_alive_timeout(PONG_TIMEOUT)
                .keep_alive_while_idle(true)
                .initial_stream_window_size(STREAM_WINDOW_BYTES)
                .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
                .handshake(io)
                .await
                .map_err(|error| CallError::broken(&error))?;
            tokio::spawn(connection);
            Ok(Self::Http2(sender))
        } else {
            let (sender, connection) =
                http1::handshake(io).await.map_err(|error| CallError::broken(&error))?;
            tokio::spawn(connection);
            Ok(Self::Http1(sender))
        }
    }

    /// Connects to `host:port`, whose certificate has to be for that host.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn open(
        network: &dyn Network,
        address: &str,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, CallError> {
        Self::open_as(network, address, host_of(address), tls).await
    }

    /// Whether it can carry no further request.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_closed(),
            Self::Http2(sender) => sender.is_closed(),
        }
    }

    /// Sends a request and returns the head of the answer.
    ///
    /// # Errors
    /// Why the connection gave none.
    pub async fn send(
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

/// The host in `host:port`, without the brackets of an IPv6 address.
pub(super) fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']'])
}
