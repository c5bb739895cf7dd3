//! The coalescing of writes: what a connection writes until its task waits goes on in one piece.
//!
//! HTTP/2 flushes after every frame, a frame takes 16 KiB, and TLS writes to the socket whatever it
//! is given. A write to the socket costs far more than a copy, so a batch of events, the answers to
//! several requests and the parts of a list should be one. What is short is copied and becomes one
//! record of TLS with the rest; what is long goes to TLS as it is, which holds its records back
//! (see `cork`).
//!
//! Invariants: nothing stays here when the connection's task waits, unless the peer takes no more;
//! never more than [`MOST`] bytes are held here, and as many in TLS (its own limit); a connection
//! with nothing to say holds no memory. A flush does nothing, so a task that writes here has to
//! poll [`Coalesce::hand_on`] before it waits.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::cork::Corked;

/// Bytes that are gathered: four records of TLS.
const MOST: usize = 64 * 1024;
/// Bytes of a write from which on a copy costs more than a record of its own.
const LONG: usize = 4 * 1024;

/// A byte stream that is written to when the task of its connection waits.
pub(in crate::server) struct Coalesce<S>(Arc<Mutex<Coalesced<S>>>);

struct Coalesced<S> {
    stream: S,
    held: Vec<u8>,
    /// Bytes of these that the stream has taken.
    taken: usize,
    /// The stream has taken something and was not flushed to the end since.
    unflushed: bool,
}

impl<S> Clone for Coalesce<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Corked> Coalesce<S> {
    pub(in crate::server) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Coalesced {
            stream,
            held: Vec::new(),
            taken: 0,
            unflushed: false,
        })))
    }

    /// Hands on what was written, each time this is polled, and ends when the stream fails. To be
    /// polled after the connection, by the same task.
    pub(in crate::server) async fn hand_on(&self) -> io::Error {
        poll_fn(|cx| match self.0.lock().poll_hand_on(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(error),
            _ => Poll::Pending,
        })
        .await
    }
}

impl<S: Corked> Coalesced<S> {
    fn poll_hand_on(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.taken < self.held.len() {
            let taken =
                ready!(Pin::new(&mut self.stream).poll_write(cx, &self.held[self.taken..]))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.taken += taken;
            self.unflushed = true;
        }
        self.held = Vec::new();
        self.taken = 0;
        if self.unflushed {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Lets TLS have what is held and then this, without a copy; gives how much it has taken of
    /// this: something.
    fn poll_hold_back(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let held = self.held.len() - self.taken;
            let Poll::Ready(taken) = self.poll_hold_back_with_held(cx, slices) else {
                ready!(self.poll_hand_on(cx))?;
                continue;
            };
            let taken = taken?;
            self.unflushed = true;
            if taken < held {
                self.taken += taken;
                continue;
            }
            (self.held, self.taken) = (Vec::new(), 0);
            if taken > held {
                return Poll::Ready(Ok(taken - held));
            }
        }
    }

    fn poll_hold_back_with_held(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let held = io::IoSlice::new(&self.held[self.taken..]);
        let all: SmallVec<[io::IoSlice<'_>; 8]> =
            iter::once(held).chain(slices.iter().copied()).collect();
        self.stream.poll_hold_back(cx, &all)
    }

    /// Makes room for a write; gives how much there is.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.held.len() == MOST {
            ready!(self.poll_hand_on(cx))?;
        }
        Poll::Ready(Ok(MOST - self.held.len()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Coalesce<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().stream).poll_read(cx, buffer)
    }
}

impl<S: Corked> AsyncWrite for Coalesce<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut gathered = self.0.lock();
        if slices.iter().map(|slice| slice.len()).sum::<usize>() >= LONG {
            return gathered.poll_hold_back(cx, slices);
        }
        let room = ready!(gathered.poll_room(cx))?;
        let mut left = room;
        for slice in slices {
            let part = &slice[..slice.len().min(left)];
            gathered.held.extend_from_slice(part);
            left -= part.len();
        }
        Poll::Ready(Ok(room - left))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathered = self.0.lock();
        ready!(gathered.poll_hand_on(cx))?;
        Pin::new(&mut gathered.stream).poll_shutdown(cx)
    }
}
