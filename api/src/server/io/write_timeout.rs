//! The write timeout: ends connections whose peer takes nothing for too long.
//!
//! Invariant: only a write that waits counts; a connection with nothing to say may stay for ever.
//! Without this, a client that stops reading in the middle of an answer would keep it in memory as
//! long as it likes. A watch keeps next to nothing: its client goes on with the history, and has
//! time for as long as that lasts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Response;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::body::{Body, Lasting};
use crate::server::Limits;

/// How long a peer may take nothing: longer once it watches. Clones share what is noted.
#[derive(Debug, Clone)]
pub(in crate::server) struct WriteLimit {
    limit: Duration,
    of_watches: Duration,
    watches: Arc<AtomicBool>,
}

impl WriteLimit {
    pub(in crate::server) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.stall,
            of_watches: limits.watch_stall.max(limits.stall),
            watches: Arc::default(),
        }
    }

    /// Notes what the peer is about to be sent.
    pub(in crate::server) fn note(&self, answer: &Response<Body>) {
        if answer.extensions().get::<Lasting>().is_some() {
            self.watches.store(true, Ordering::Relaxed);
        }
    }

    fn limit(&self) -> Duration {
        if self.watches.load(Ordering::Relaxed) { self.of_watches } else { self.limit }
    }
}

/// A byte stream whose writes may not wait longer than a limit.
pub(in crate::server) struct WriteTimeout<S> {
    inner: S,
    patience: WriteLimit,
    timer: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<S> WriteTimeout<S> {
    pub(in crate::server) fn new(inner: S, patience: WriteLimit) -> Self {
        Self { inner, timer: Box::pin(sleep(patience.limit)), patience, waiting: false }
    }

    /// Turns a wait that has become too long into an error.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.waiting = false;
            return result;
        }
        if !std::mem::replace(&mut self.waiting, true) {
            self.timer.as_mut().reset(Instant::now() + self.patience.limit());
        }
        match self.timer.as_mut().poll(cx) {
            Poll::Ready(()) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.watch(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch(cx, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);
    const OF_WATCHES: Duration = Duration::from_secs(300);

    fn patience() -> WriteLimit {
        WriteLimit::new(&Limits { stall: LIMIT, watch_stall: OF_WATCHES, ..Limits::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let check = async |answers: &[bool], expect: Duration| {
            let (near, _far) = duplex(8);
            let patience = patience();
            let mut guarded = WriteTimeout::new(near, patience.clone());
            for is_watch in answers {
                let mut answer = Response::new(Body::empty());
                is_watch.then(|| answer.extensions_mut().insert(Lasting));
                patience.note(&answer);
            }
            let begun = Instant::now();
            let error = guarded.write_all(&[0; 100]).await.unwrap_err();
            assert_eq!(
                (error.kind(), begun.elapsed().as_secs()),
                (io::ErrorKind::TimedOut, expect.as_secs())
            );
        };
        check(&[], LIMIT).await;
        check(&[false], LIMIT).await;
        check(&[true], OF_WATCHES).await;
        check(&[true, false], OF_WATCHES).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_and_a_silent_connection_stay() {
        let (near, mut far) = duplex(8);
        let mut guarded = WriteTimeout::new(near, patience());
        let reader = tokio::spawn(async move {
            let mut buffer = [0; 8];
            while far.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                sleep(LIMIT / 2).await;
            }
        });
        guarded.write_all(&[0; 100]).await.unwrap();
        sleep(LIMIT * 10).await;
        guarded.write_all(&[0; 100]).await.unwrap();
        drop(guarded);
        reader.await.unwrap();
    }
}
