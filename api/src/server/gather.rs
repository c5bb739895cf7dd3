//! Gathers what a connection writes until its task waits, and hands it on in one piece.
//!
//! HTTP/2 flushes after every frame, a frame takes 16 KiB, and TLS writes to the socket whatever it is given. A write to the socket costs
//! far more than a copy, so a batch of events, the answers to several requests and the parts of a list should be one.
//!
//! Invariants: nothing stays here when the connection's task waits, unless the peer takes no more; never more than [`MOST`] bytes are
//! held; a connection with nothing to say holds no memory. A flush does nothing, so a task that writes here has to
//! poll [`Gather::hand_on`] before it waits.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are gathered: four records of TLS.
const MOST: usize = 64 * 1024;

/// A byte stream that is written to when the task of its connection waits.
pub(super) struct Gather<S>(Arc<Mutex<Gathered<S>>>);

struct Gathered<S> {
    stream: S,
    held: Vec<u8>,
    /// Bytes of these that the stream has taken.
    taken: usize,
    /// The stream has taken something and was not flushed to the end since.
    unflushed: bool,
}

impl<S> Clone for Gather<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: AsyncWrite + Unpin> Gather<S> {
    pub(super) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Gathered { stream, held: Vec::new(), taken: 0, unflushed: false })))
    }

    /// Hands on what was written, each time this is polled, and ends when the stream fails. To be polled after the connection, by the
    /// same task.
    pub(super) async fn hand_on(&self) -> io::Error {
        poll_fn(|cx| match self.0.lock().poll_hand_on(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(error),
            _ => Poll::Pending,
        })
        .await
    }
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    fn poll_hand_on(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.taken < self.held.len() {
            let taken = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.held[self.taken..]))?;
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

    /// Makes room for a write; gives how much there is.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.held.len() == MOST {
            ready!(self.poll_hand_on(cx))?;
        }
        Poll::Ready(Ok(MOST - self.held.len()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gather<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gather<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut gathered = self.0.lock();
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

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::yield_now;

    use super::*;

    /// Bytes that the far end finds with one read, if any are there.
    fn arrived(far: &mut DuplexStream) -> Option<usize> {
        far.read(&mut vec![0; 2 * MOST]).now_or_never().map(Result::unwrap)
    }

    /// Runs a connection to its end.
    async fn drive(gather: &Gather<DuplexStream>, connection: impl Future<Output = ()>) -> io::Result<()> {
        tokio::select! {
            biased;
            () = connection => Ok(()),
            error = gather.hand_on() => Err(error),
        }
    }

    #[tokio::test]
    async fn what_is_written_goes_out_together_when_the_task_waits() {
        let (near, mut far) = duplex(2 * MOST);
        let gather = Gather::new(near);
        let mut writer = gather.clone();
        let connection = async {
            for bytes in [&[1; 9][..], &[2; 16_384], &[3; 100]] {
                writer.write_all(bytes).await.unwrap();
                writer.flush().await.unwrap();
            }
            assert_eq!(arrived(&mut far), None);
            yield_now().await;
            assert_eq!(arrived(&mut far), Some(16_493));
        };
        drive(&gather, connection).await.unwrap();
        assert_eq!(gather.0.lock().held.capacity(), 0);
    }

    #[tokio::test]
    async fn a_slow_peer_gets_everything_and_little_is_held() {
        let (near, mut far) = duplex(1000);
        let gather = Gather::new(near);
        let mut writer = gather.clone();
        let sent: Vec<u8> = (0..5 * MOST).map(|at| at as u8).collect();
        let connection = async {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let read = async {
            let (mut all, mut some) = (Vec::new(), [0; 700]);
            loop {
                let read = far.read(&mut some).await.unwrap();
                if read == 0 {
                    return all;
                }
                all.extend_from_slice(&some[..read]);
                assert!(gather.0.lock().held.len() <= MOST);
            }
        };
        let (driven, read) = tokio::join!(drive(&gather, connection), read);
        driven.unwrap();
        assert_eq!(read, sent);
    }

    #[tokio::test]
    async fn a_peer_that_has_gone_ends_the_connection() {
        let (near, far) = duplex(1000);
        let gather = Gather::new(near);
        let mut writer = gather.clone();
        drop(far);
        let connection = async {
            writer.write_all(b"x").await.unwrap();
            std::future::pending::<()>().await;
        };
        let error = drive(&gather, connection).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
