//! The preface timeout: ends connections whose peer does not begin to speak HTTP/2.
//!
//! Invariant: until the first bytes of the protocol have come, reads may not wait longer than a
//! limit all together; after that this does nothing. HTTP/1.1 has a limit of its own for every
//! head, and HTTP/2 asks silent peers whether they live, but only once its preface has been read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::cork::Corked;

/// Bytes that every HTTP/2 client begins with.
const PREFACE_BYTES: usize = 24;

/// A byte stream whose peer has to send the preface in time.
pub(in crate::server) struct PrefaceTimeout<S> {
    inner: S,
    /// Bytes that are still to come, and until when; `None` once they are there.
    owed: Option<(usize, Pin<Box<Sleep>>)>,
}

impl<S> PrefaceTimeout<S> {
    pub(in crate::server) fn new(inner: S, limit: Duration) -> Self {
        Self { inner, owed: Some((PREFACE_BYTES, Box::pin(sleep(limit)))) }
    }
}

impl<S: Corked> Corked for PrefaceTimeout<S> {
    fn cork(&mut self, in_place: bool) {
        self.inner.cork(in_place);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefaceTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.inner).poll_read(cx, buffer);
        let Some((bytes, timer)) = &mut this.owed else {
            return result;
        };
        *bytes = bytes.saturating_sub(buffer.filled().len() - before);
        if *bytes == 0 {
            this.owed = None;
        } else if result.is_pending() && timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer says nothing",
            )));
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefaceTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_begin_is_given_up() {
        let (near, mut far) = duplex(64);
        let (mut stream, begun) = (PrefaceTimeout::new(near, LIMIT), Instant::now());
        let dribble = tokio::spawn(async move {
            for _ in 1..PREFACE_BYTES {
                sleep(LIMIT / 5).await;
                if far.write_all(b"x").await.is_err() {
                    return;
                }
            }
        });
        let error = stream.read_exact(&mut [0; PREFACE_BYTES]).await.unwrap_err();
        assert_eq!(
            (error.kind(), begun.elapsed().as_secs()),
            (io::ErrorKind::TimedOut, LIMIT.as_secs())
        );
        drop(stream);
        dribble.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_has_begun_may_be_silent() {
        let (near, mut far) = duplex(64);
        let mut stream = PrefaceTimeout::new(near, LIMIT);
        far.write_all(&[0; PREFACE_BYTES]).await.unwrap();
        stream.read_exact(&mut [0; PREFACE_BYTES]).await.unwrap();
        let late = tokio::spawn(async move {
            sleep(LIMIT * 10).await;
            far.write_all(b"x").await.unwrap();
        });
        stream.read_exact(&mut [0; 1]).await.unwrap();
        late.await.unwrap();
    }
}
