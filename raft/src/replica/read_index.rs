//! The read index queue: linearizable reads share their rounds. One round runs at a time, and every
//! read that arrives meanwhile waits for the next one, together with the clients that follow on the
//! answers of the last one ([`BatchWindow`]).
//!
//! Invariant: a read is answered by a round that *started* after the read arrived, never by one
//! that was already on its way. At most [`MAX_WAITING_READS`] wait, and none once rounds have
//! ended. Not here: what a round does (`read_round`).

use futures::future::BoxFuture;
use parking_lot::Mutex;
use quorate_store::NotApplied;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

use super::batch_window::BatchWindow;

/// Reads that may wait for the next round.
const MAX_WAITING_READS: usize = 65_536;

/// What a round finds: an index of the log. A state that has applied it is current.
pub(crate) type ReadPoint = Result<u64, NotApplied>;

/// The reads that wait.
#[derive(Debug)]
pub(crate) struct ReadIndex {
    /// `None` once rounds have ended.
    waiting: Mutex<Option<Vec<oneshot::Sender<ReadPoint>>>>,
    wake: Notify,
}

impl Default for ReadIndex {
    fn default() -> Self {
        Self { waiting: Mutex::new(Some(Vec::new())), wake: Notify::new() }
    }
}

/// Ends rounds when it is dropped with the task that runs them: waiting reads fail, and so do later
/// ones.
struct EndOnDrop<'a>(&'a ReadIndex);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        *self.0.waiting.lock() = None;
    }
}

impl ReadIndex {
    /// The answer of the next round.
    pub(crate) async fn next(&self) -> ReadPoint {
        let (sender, receiver) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            let Some(waiting) = &mut *waiting else {
                return Err(stopping());
            };
            if waiting.len() >= MAX_WAITING_READS {
                return Err(NotApplied::Overloaded);
            }
            waiting.push(sender);
        }
        self.wake.notify_one();
        receiver.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Runs rounds whenever reads wait, for ever.
    pub(crate) async fn run(
        &self,
        round: impl Fn() -> BoxFuture<'static, ReadPoint> + Send + Sync,
    ) {
        let _running = EndOnDrop(self);
        let mut window: Option<BatchWindow> = None;
        loop {
            let due = window.map(|window| window.until());
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
            window = window.take_if(|window| window.stays_open(self.len(), MAX_WAITING_READS));
            if window.is_some() {
                continue;
            }
            let waiting = self.waiting.lock().as_mut().map(std::mem::take).unwrap_or_default();
            if waiting.is_empty() {
                continue;
            }
            let begun = Instant::now();
            let point = round().await;
            let (answered, took) = (waiting.len(), begun.elapsed());
            for read in waiting {
                read.send(point.clone()).ok();
            }
            window = Some(BatchWindow::new(answered, took, self.len()));
        }
    }

    /// How many reads wait.
    fn len(&self) -> usize {
        self.waiting.lock().as_ref().map_or(0, Vec::len)
    }
}

fn stopping() -> NotApplied {
    NotApplied::Unavailable("the node is stopping".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test]
    async fn reads_that_arrive_during_a_round_share_the_next_one() {
        let rounds = Arc::new(ReadIndex::default());
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let count = Arc::new(AtomicU64::new(0));
        let runner = {
            let (rounds, gate, count) = (rounds.clone(), gate.clone(), count.clone());
            let round = move || -> BoxFuture<'static, ReadPoint> {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                let gate = gate.clone();
                Box::pin(async move {
                    gate.acquire().await.expect("open").forget();
                    Ok(number)
                })
            };
            tokio::spawn(async move { rounds.run(round).await })
        };
        let first = tokio::spawn({
            let rounds = rounds.clone();
            async move { rounds.next().await }
        });
        while count.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let late: Vec<_> = (0..10)
            .map(|_| {
                let rounds = rounds.clone();
                tokio::spawn(async move { rounds.next().await })
            })
            .collect();
        while rounds.waiting.lock().as_ref().expect("rounds run").len() < 10 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(2);
        assert_eq!(first.await.expect("joins"), Ok(1));
        for read in late {
            assert_eq!(read.await.expect("joins"), Ok(2));
        }
        assert_eq!(count.load(Ordering::SeqCst), 2);
        runner.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_answered_client_shares_the_next_round_with_a_waiting_one() {
        let rounds = Arc::new(ReadIndex::default());
        let runner = tokio::spawn({
            let rounds = rounds.clone();
            let number = Arc::new(AtomicU64::new(0));
            let round = move || -> BoxFuture<'static, ReadPoint> {
                let number = number.clone();
                Box::pin(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                    Ok(number.fetch_add(1, Ordering::SeqCst) + 1)
                })
            };
            async move { rounds.run(round).await }
        });
        // Two clients that read six times each, the second one a little later.
        let client = |delay: u64| {
            let rounds = rounds.clone();
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_millis(delay)).await;
                let mut points = Vec::new();
                for _ in 0..6 {
                    points.push(rounds.next().await.expect("it is answered"));
                }
                points
            })
        };
        let (first, second) = (client(0), client(2));
        assert_eq!(first.await.expect("joins"), [1, 2, 3, 4, 5, 6]);
        assert_eq!(second.await.expect("joins"), [2, 3, 4, 5, 6, 7]);
        runner.abort();
    }

    #[tokio::test]
    async fn when_rounds_end_no_read_waits_any_more() {
        let rounds = Arc::new(ReadIndex::default());
        let runner = tokio::spawn({
            let rounds = rounds.clone();
            async move { rounds.run(|| Box::pin(std::future::pending())).await }
        });
        let wait = || {
            let rounds = rounds.clone();
            tokio::spawn(async move { rounds.next().await })
        };
        let in_a_round = wait();
        tokio::task::yield_now().await;
        runner.abort();
        assert_eq!(in_a_round.await.expect("joins"), Err(stopping()));
        assert_eq!(wait().await.expect("joins"), Err(stopping()));
    }
}
