//! Dialing a peer: network seam, TLS, HTTP/2.
//!
//! Invariants: a connection attempt ends within [`CONNECT_TIMEOUT`]; a connection whose other end
//! is silent (machine gone, cable cut) is given up within [`KEEP_ALIVE_INTERVAL`] +
//! [`KEEP_ALIVE_TIMEOUT`]. It does not retry; `link` does.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use quorate_env::{Io, Network};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

use super::identity::PEER_NAME;
use super::tls::PeerTls;

/// From dialing to a finished handshake.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often an idle or waiting connection is probed.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(500);
/// How long a probe may stay unanswered.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(1);
/// What one stream may have in flight before its reader takes it, in bytes.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 4 << 20;
/// What one connection may have in flight, in bytes.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// What one HTTP/2 frame may have, in bytes. A message goes out in one, where many small ones would
/// each be built, sent and taken apart.
pub(crate) const FRAME_BYTES: u32 = 256 << 10;
/// The channel's own URI; addresses and names are the connector's business.
const ENDPOINT: &str = "http://peer.quorate";

/// With which TLS settings to dial.
#[derive(Debug, Clone)]
pub(crate) enum ClientTls {
    /// As a member, with the certificate that is current when the connection is made.
    Member(Arc<PeerTls>),
    /// As a node that wants to join.
    Joining(Arc<ClientConfig>),
}

/// Connects to the peer at `host:port`.
pub(crate) async fn dial(
    network: Arc<dyn Network>,
    tls: ClientTls,
    address: &str,
) -> io::Result<Channel> {
    let address = address.to_owned();
    let connector = tower::service_fn(move |_: Uri| {
        let (network, address) = (network.clone(), address.clone());
        let tls = match &tls {
            ClientTls::Member(tls) => tls.client(),
            ClientTls::Joining(config) => config.clone(),
        };
        async move { handshake(&*network, tls, &address).await.map(TokioIo::new) }
    });
    let endpoint = Endpoint::from_static(ENDPOINT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    endpoint.connect_with_connector(connector).await.map_err(|error| innermost(&error))
}

/// tonic calls this again by itself when a connection broke, so the time limit is here.
async fn handshake(
    network: &dyn Network,
    tls: Arc<ClientConfig>,
    address: &str,
) -> io::Result<TlsStream<Box<dyn Io>>> {
    let name = ServerName::try_from(PEER_NAME).expect("the peer name is a DNS name");
    let connecting = async {
        let stream = network.connect(address).await?;
        TlsConnector::from(tls).connect(name, stream).await
    };
    tokio::time::timeout(CONNECT_TIMEOUT, connecting)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// tonic wraps the reason in several layers that say "transport error"; operators need the last
/// one, and the rollback check needs its kind.
fn innermost(error: &(dyn std::error::Error + 'static)) -> io::Error {
    let (mut error, mut kind) = (error, io::ErrorKind::Other);
    loop {
        kind = error.downcast_ref::<io::Error>().map_or(kind, io::Error::kind);
        match error.source() {
            Some(source) => error = source,
            None => return io::Error::new(kind, error.to_string()),
        }
    }
}
