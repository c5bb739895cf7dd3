//! Blocking sections: work that keeps a thread busy for long, seconds of reading the disk or of
//! computing.
//!
//! Invariant: the work is done in the caller's task and at the same place in its order, so a
//! simulation, which has one thread, replays it. Short work (a few milliseconds) does not belong
//! here: moving the other tasks to another thread costs as much.

use std::future::poll_fn;
use std::pin::pin;

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does the work while another thread takes over what this one would have run meanwhile, if there
/// can be another.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Waits for what may compute for long whenever it goes on: each time as [`blocking`] does its
/// work.
pub async fn blocking_whenever_it_runs<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| blocking(|| work.as_mut().poll(context))).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_meanwhile() {
        let (sender, receiver) = mpsc::channel();
        let busy = tokio::spawn(async move {
            let other = tokio::spawn(async move { sender.send(()) });
            let seen = blocking(|| receiver.recv_timeout(Duration::from_secs(10)));
            drop(other);
            seen
        });
        assert_eq!(busy.await.expect("joins"), Ok(()));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_whenever_it_does() {
        let (sender, receiver) = mpsc::channel();
        let busy = tokio::spawn(blocking_whenever_it_runs(async move {
            for _ in 0..3 {
                let sender = sender.clone();
                tokio::spawn(async move { sender.send(()) });
                receiver.recv_timeout(Duration::from_secs(10)).expect("others run");
                tokio::task::yield_now().await;
            }
            7
        }));
        assert_eq!(busy.await.expect("joins"), 7);
    }

    #[tokio::test]
    async fn one_thread_is_enough() {
        assert_eq!(blocking(|| 7), 7);
        assert_eq!(blocking_whenever_it_runs(async { 9 }).await, 9);
    }

    #[test]
    fn no_runtime_is_needed() {
        assert_eq!(blocking(|| 8), 8);
    }
}
