//! The idle timeout of a streamed body: gives up one that its client stops taking.
//!
//! Over HTTP/2 a client can leave one answer alone while its connection goes on, so that no write
//! ever waits (for those that do see `server/io/write_timeout`). Invariant: what makes such an
//! answer (a list's state), and what it holds (its place among the requests in flight), is given
//! back when the connection has not asked for more of it for the limit; if it asks after that, the
//! body fails.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::stream::poll_fn;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::Chunks;

/// How long an answer waits to be asked for more.
const LIMIT: Duration = Duration::from_secs(60);

/// An answer that is being made.
struct Making {
    /// What makes it and what it holds; `None` once that was given up.
    source: Option<(Chunks, Box<dyn Any + Send>)>,
    asked: Instant,
}

/// The same buffers; they, and what is held, are given up when the connection does not ask for them
/// any more.
pub(super) fn impatient(chunks: Chunks, held: impl Any + Send) -> Chunks {
    let making = Making { source: Some((chunks, Box::new(held))), asked: Instant::now() };
    let making = Arc::new(Mutex::new(making));
    let waiting = AbortOnDropHandle::new(tokio::spawn(give_up(Arc::clone(&making))));
    Box::pin(poll_fn(move |cx| {
        let _ = &waiting;
        let mut making = making.lock();
        making.asked = Instant::now();
        match &mut making.source {
            Some((chunks, _)) => chunks.as_mut().poll_next(cx),
            None => Poll::Ready(Some(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client took nothing",
            )))),
        }
    }))
}

/// Waits until the connection has not asked for the limit.
async fn give_up(making: Arc<Mutex<Making>>) {
    loop {
        let end = {
            let mut making = making.lock();
            let end = making.asked + LIMIT;
            if end <= Instant::now() {
                making.source = None;
                return;
            }
            end
        };
        sleep_until(end).await;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::StreamExt;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_the_client_stops_taking_is_given_up() {
        let held = Arc::new(());
        let chunks = futures::stream::iter((0..10).map(|number: u8| Ok(Bytes::from(vec![number]))));
        let mut body = impatient(Box::pin(chunks), Arc::clone(&held));
        // Slow is not gone.
        for number in 0..5 {
            assert_eq!(body.next().await.unwrap().unwrap(), [number][..]);
            sleep(LIMIT - Duration::from_secs(1)).await;
        }
        assert_eq!(Arc::strong_count(&held), 2);
        sleep(Duration::from_secs(2)).await;
        assert_eq!(Arc::strong_count(&held), 1);
        assert_eq!(body.next().await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_dropped_holds_nothing() {
        let held = Arc::new(());
        drop(impatient(Box::pin(futures::stream::empty()), Arc::clone(&held)));
        sleep(Duration::from_millis(1)).await;
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
