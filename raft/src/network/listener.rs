//! The peer listener: network seam, TLS, then a stream of connections for tonic.
//!
//! Invariants: at most [`MAX_HANDSHAKES`] handshakes run at once, each for at most
//! [`HANDSHAKE_TIMEOUT`]; connections beyond that wait in the kernel; connections beyond the limits
//! (`connection_limits`) are closed. A failed handshake costs one log line and nothing else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quorate_env::{Io, Listener};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::connection_limits::ConnectionLimits;
use super::stream::PeerStream;
use super::tls::PeerTls;

/// Connections in the middle of their handshake.
const MAX_HANDSHAKES: usize = 64;
/// From accepting to a finished handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the network seam failed to accept (out of file descriptors, for one).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections whose handshake is done and that tonic has not taken yet.
const MAX_ACCEPTED: usize = 16;

/// What tonic serves.
pub(crate) type Accepted = mpsc::Receiver<io::Result<PeerStream>>;

/// Accepts until `closing` says that the node ends, and cuts what was accepted then.
pub(crate) fn accept(
    listener: Box<dyn Listener>,
    tls: Arc<PeerTls>,
    closing: CancellationToken,
) -> Accepted {
    let (accepted, receiver) = mpsc::channel(MAX_ACCEPTED);
    tokio::spawn(async move {
        let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        let acceptor = Acceptor {
            tls,
            accepted,
            closing: closing.clone(),
            handshakes,
            limits: Arc::new(ConnectionLimits::new()),
        };
        tokio::select! {
            biased;
            () = acceptor.accept_all(&*listener) => {}
            () = closing.cancelled() => {}
        }
    });
    receiver
}

struct Acceptor {
    tls: Arc<PeerTls>,
    accepted: mpsc::Sender<io::Result<PeerStream>>,
    closing: CancellationToken,
    handshakes: Arc<Semaphore>,
    limits: Arc<ConnectionLimits>,
}

impl Acceptor {
    async fn accept_all(&self, listener: &dyn Listener) {
        loop {
            let permit = self
                .handshakes
                .clone()
                .acquire_owned()
                .await
                .expect("the semaphore is never closed");
            let (stream, address) = match listener.accept().await {
                Ok(connection) => connection,
                Err(error) => {
                    warn!(%error, "cannot accept a peer connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let (acceptor, accepted) =
                (TlsAcceptor::from(self.tls.server()), self.accepted.clone());
            let (closing, limits) = (self.closing.clone(), self.limits.clone());
            tokio::spawn(async move {
                let stream = handshake(acceptor, stream, address, closing).await;
                if let Some(stream) = stream.and_then(|stream| limit(stream, &limits)) {
                    drop(permit);
                    accepted.send(Ok(stream)).await.ok();
                }
            });
        }
    }
}

/// Lets the connection in if there is a permit for it.
fn limit(stream: PeerStream, limits: &ConnectionLimits) -> Option<PeerStream> {
    let info = stream.info();
    if !info.authenticated {
        let Some(permit) = limits.unauthenticated() else {
            debug!("refused a connection without a peer certificate: too many are open");
            return None;
        };
        return Some(stream.of_unauthenticated(permit));
    }
    let Some(permit) = limits.node(info.identity) else {
        let node = info.identity.map(|identity| identity.node);
        warn!(peer = %info.address, node, "refused a connection of a node: it has too many open");
        return None;
    };
    Some(stream.of_node(permit))
}

async fn handshake(
    acceptor: TlsAcceptor,
    stream: Box<dyn Io>,
    address: String,
    closing: CancellationToken,
) -> Option<PeerStream> {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(PeerStream::new(stream.into(), address, closing)),
        Ok(Err(error)) => {
            debug!(peer = %address, %error, "refused a peer connection");
            None
        }
        Err(_) => {
            debug!(peer = %address, "a peer did not finish its handshake in time");
            None
        }
    }
}
