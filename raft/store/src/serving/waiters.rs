//! Waiters for a revision to be applied, ordered by it, so that a publication wakes only those that
//! it satisfies.
//!
//! Invariant: the queue holds one entry per revision that is waited for at this moment; a waiter
//! that is dropped leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::Revision;

#[derive(Debug, Default)]
pub(super) struct Waiters {
    queue: Mutex<BTreeMap<Revision, Arc<Notify>>>,
}

impl Waiters {
    /// Returns once `applied()` is at least `at`. The caller of [`Waiters::release`] raises
    /// `applied` first.
    pub(super) async fn wait(&self, at: Revision, applied: impl Fn() -> Revision) {
        if applied() >= at {
            return;
        }
        let waiting = self.enqueue(at);
        let notified = waiting.notify.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if applied() < at {
            notified.await;
        }
    }

    /// Wakes all that wait for this revision or an older one.
    pub(super) fn release(&self, applied: Revision) {
        let mut queue = self.queue.lock();
        while let Some(entry) = queue.first_entry().filter(|entry| *entry.key() <= applied) {
            entry.remove().notify_waiters();
        }
    }

    fn enqueue(&self, at: Revision) -> Waiting<'_> {
        let notify = Arc::clone(self.queue.lock().entry(at).or_default());
        Waiting { waiters: self, at, notify }
    }
}

struct Waiting<'a> {
    waiters: &'a Waiters,
    at: Revision,
    notify: Arc<Notify>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        /// The queue's own reference and ours.
        const LAST: usize = 2;
        let mut queue = self.waiters.queue.lock();
        let ours = queue.get(&self.at).is_some_and(|notify| Arc::ptr_eq(notify, &self.notify));
        if ours && Arc::strong_count(&self.notify) == LAST {
            queue.remove(&self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn wakes_whom_it_satisfies_and_forgets_who_left() {
        let waiters = Waiters::default();
        let applied = AtomicU64::new(5);
        let wait = |at| {
            Box::pin(
                waiters.wait(Revision::new(at), || Revision::new(applied.load(Ordering::SeqCst))),
            )
        };
        assert!(wait(5).now_or_never().is_some());

        let (mut six, mut seven, mut again) = (wait(6), wait(7), wait(7));
        for waiting in [&mut six, &mut seven, &mut again] {
            assert!(waiting.now_or_never().is_none());
        }
        assert_eq!(waiters.queue.lock().len(), 2);
        applied.store(6, Ordering::SeqCst);
        waiters.release(Revision::new(6));
        assert!(six.now_or_never().is_some());
        assert!((&mut seven).now_or_never().is_none());
        drop(seven);
        assert_eq!(waiters.queue.lock().len(), 1);
        drop(again);
        assert_eq!(waiters.queue.lock().len(), 0);
    }
}
