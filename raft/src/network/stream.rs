//! A TLS connection between peers, in the one type that tonic's server and client take.
//!
//! Invariant: [`PeerInfo::authenticated`] is true only if the other end proved itself with a certificate of the peer authority.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use quorate_store::env::Io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsStream;
use tonic::transport::server::Connected;

/// An accepted connection.
pub(crate) struct PeerStream {
    inner: TlsStream<Box<dyn Io>>,
    info: PeerInfo,
}

/// What the accepting end knows of the other one; an extension of every request.
#[derive(Debug, Clone)]
pub(crate) struct PeerInfo {
    /// It holds a peer certificate.
    pub(crate) authenticated: bool,
    /// Its address, for messages only.
    pub(crate) address: String,
}

impl PeerStream {
    /// Wraps a connection whose handshake is done.
    pub(crate) fn new(inner: TlsStream<Box<dyn Io>>, address: String) -> Self {
        let authenticated = inner.get_ref().1.peer_certificates().is_some_and(|chain| !chain.is_empty());
        Self { inner, info: PeerInfo { authenticated, address } }
    }
}

impl Connected for PeerStream {
    type ConnectInfo = PeerInfo;

    fn connect_info(&self) -> PeerInfo {
        self.info.clone()
    }
}

impl AsyncRead for PeerStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for PeerStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
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
