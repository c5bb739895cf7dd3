//! Quota locks: writes that are charged to the same quotas go one after the other.
//!
//! Each charge changes the quota's `status.used` on the condition that no other write has, so of
//! concurrent writes one would commit and all others run again. Other nodes have locks of their
//! own; conflicts between nodes are decided by the store.
//!
//! Invariants: a lock only saves work, so its wait is bounded and a write is correct without it;
//! only namespaces with a writer that waits or holds the lock are kept in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};
use tokio::time::timeout;

/// Namespaces in memory above which those without a writer are dropped.
const MANY: usize = 64;
/// How long a writer waits for a lock.
const PATIENCE: Duration = Duration::from_secs(1);

/// The quota locks of one node, by namespace.
#[derive(Debug, Default)]
pub struct QuotaLocks {
    namespaces: Mutex<HashMap<String, Arc<Lock<()>>>>,
}

impl QuotaLocks {
    /// Waits for the lock of a namespace; `None` when the wait ends without it.
    pub async fn wait(&self, namespace: &str) -> Option<OwnedMutexGuard<()>> {
        let lock = {
            let mut namespaces = self.namespaces.lock();
            if namespaces.len() >= MANY {
                namespaces.retain(|_, lock| Arc::strong_count(lock) > 1);
            }
            namespaces.entry(namespace.to_owned()).or_default().clone()
        };
        timeout(PATIENCE, lock.lock_owned()).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_after_the_other_in_a_namespace() {
        let locks = QuotaLocks::default();
        let first = locks.wait("a").await;
        assert!(locks.wait("a").now_or_never().is_none());
        assert!(locks.wait("b").now_or_never().is_some());
        drop(first);
        assert!(locks.wait("a").now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_long() {
        let locks = QuotaLocks::default();
        let held = locks.wait("a").await;
        assert!(held.is_some());
        assert!(locks.wait("a").await.is_none());
        let (next, ()) = tokio::join!(locks.wait("a"), async { drop(held) });
        assert!(next.is_some());
    }

    #[tokio::test]
    async fn namespaces_without_writers_are_forgotten() {
        let locks = QuotaLocks::default();
        let held = locks.wait("held").await;
        for number in 0..10 * MANY {
            locks.wait(&number.to_string()).await;
        }
        assert!(locks.namespaces.lock().len() <= MANY);
        assert!(locks.wait("held").now_or_never().is_none());
        drop(held);
    }
}
