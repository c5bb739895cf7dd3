//! A TLS connection between peers, in the one type that tonic's server and client take.
//!
//! Invariants: [`PeerInfo::authenticated`] is true only if the other end proved itself with a
//! certificate of the peer authority; a connection ends with the node that accepted it, whatever is
//! still under way on it, and one without a peer certificate after [`UNAUTHENTICATED_LIFETIME`] at
//! the latest.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use quorate_env::Io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

use super::identity::PeerIdentity;

/// How long a connection without a peer certificate may last: longer than any join takes.
const UNAUTHENTICATED_LIFETIME: Duration = Duration::from_secs(60);

/// An accepted connection.
pub(crate) struct PeerStream {
    inner: TlsStream<Box<dyn Io>>,
    info: PeerInfo,
    closed: BoxFuture<'static, ()>,
    /// Its permit (`connection_limits`).
    permit: Option<OwnedSemaphorePermit>,
}

/// What the accepting end knows of the other one; an extension of every request.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerInfo {
    /// It holds a peer certificate.
    pub(crate) authenticated: bool,
    /// Which node that certificate is of.
    pub(crate) identity: Option<PeerIdentity>,
    /// Its address, for messages only.
    pub(crate) address: String,
}

impl PeerStream {
    /// Wraps a connection whose handshake is done, to be cut when `closing` says so.
    pub(crate) fn new(
        inner: TlsStream<Box<dyn Io>>,
        address: String,
        closing: CancellationToken,
    ) -> Self {
        let certificate = inner.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let (authenticated, identity) =
            (certificate.is_some(), certificate.and_then(PeerIdentity::of));
        let closed = closing.cancelled_owned().boxed();
        Self { inner, info: PeerInfo { authenticated, identity, address }, closed, permit: None }
    }

    /// What is known of the other end.
    pub(crate) fn info(&self) -> &PeerInfo {
        &self.info
    }

    /// The connection of a node, with its permit.
    pub(crate) fn of_node(mut self, permit: OwnedSemaphorePermit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// The connection of a node without a peer certificate, for a limited time, with its permit.
    pub(crate) fn of_unauthenticated(mut self, permit: OwnedSemaphorePermit) -> Self {
        let closing = self.closed;
        self.closed =
            async { drop(tokio::time::timeout(UNAUTHENTICATED_LIFETIME, closing).await) }.boxed();
        self.permit = Some(permit);
        self
    }
}

impl Connected for PeerStream {
    type ConnectInfo = PeerInfo;

    fn connect_info(&self) -> PeerInfo {
        self.info.clone()
    }
}

impl AsyncRead for PeerStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.closed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for PeerStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
