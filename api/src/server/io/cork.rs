//! A cork below TLS, which keeps its records from the socket until they go out together.
//!
//! TLS writes to the socket whatever it is given, at once. Below it a cork says that the socket
//! takes nothing now, so that the records stay with TLS, which sends many of them in one write
//! later. Invariant: a cork is in place only during a write whose caller takes it out afterwards,
//! for it wakes no task.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

/// A byte stream that takes nothing while it is corked.
pub(in crate::server) struct Cork<S> {
    inner: S,
    in_place: bool,
}

impl<S> Cork<S> {
    pub(in crate::server) fn new(inner: S) -> Self {
        Self { inner, in_place: false }
    }

    /// Puts it in place, or takes it out.
    pub(in crate::server) fn put(&mut self, in_place: bool) {
        self.in_place = in_place;
    }
}

/// A byte stream with a cork somewhere below.
pub(in crate::server) trait Corked: AsyncWrite + Unpin {
    /// Puts the cork in place, or takes it out.
    fn cork(&mut self, in_place: bool);

    /// Writes what can be held back above the cork; pending when that is full.
    fn poll_hold_back(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.cork(true);
        let held = Pin::new(&mut *self).poll_write_vectored(cx, slices);
        self.cork(false);
        held
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Corked for TlsStream<Cork<S>> {
    fn cork(&mut self, in_place: bool) {
        self.get_mut().0.put(in_place);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Cork<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cork<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.in_place { Poll::Pending } else { Pin::new(&mut self.inner).poll_write(cx, bytes) }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.in_place {
            Poll::Pending
        } else {
            Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
        }
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
