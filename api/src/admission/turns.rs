//! Turns: writes that are counted by the same quotas go one after the other.
//!
//! Each of them changes the quota's numbers on the condition that nobody else has, so of those that go at the same time one would win and
//! all others be made again. Other nodes have turns of their own; their writers meet at the store. Invariants: a turn only saves work, so
//! nobody waits for long and what is written is right without one; only namespaces with a writer that waits or is at it are remembered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::time::timeout;

/// Namespaces above which those without a writer are forgotten.
const MANY: usize = 64;
/// How long a turn is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The turns of one node.
#[derive(Debug, Default)]
pub(super) struct Turns {
    namespaces: Mutex<HashMap<String, Arc<Turn<()>>>>,
}

impl Turns {
    /// Waits for the turn in a namespace; `None` when it does not come in time.
    pub(super) async fn wait(&self, namespace: &str) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut namespaces = self.namespaces.lock();
            if namespaces.len() >= MANY {
                namespaces.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            namespaces.entry(namespace.to_owned()).or_default().clone()
        };
        timeout(PATIENCE, turn.lock_owned()).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_after_the_other_in_a_namespace() {
        let turns = Turns::default();
        let first = turns.wait("a").await;
        assert!(turns.wait("a").now_or_never().is_none());
        assert!(turns.wait("b").now_or_never().is_some());
        drop(first);
        assert!(turns.wait("a").now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_long() {
        let turns = Turns::default();
        let held = turns.wait("a").await;
        assert!(held.is_some());
        assert!(turns.wait("a").await.is_none());
        let (next, ()) = tokio::join!(turns.wait("a"), async { drop(held) });
        assert!(next.is_some());
    }

    #[tokio::test]
    async fn namespaces_without_writers_are_forgotten() {
        let turns = Turns::default();
        let held = turns.wait("held").await;
        for number in 0..10 * MANY {
            turns.wait(&number.to_string()).await;
        }
        assert!(turns.namespaces.lock().len() <= MANY);
        assert!(turns.wait("held").now_or_never().is_none());
        drop(held);
    }
}
