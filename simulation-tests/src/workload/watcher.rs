//! A client that watches everything, now here, now there, and always resumes after the last batch it has seen.

use std::time::Duration;

use quorate_store::Revision;
use quorate_store::env::Env;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::record::{Progress, WatchRecord};
use crate::gateway::{Answer, Ask, Session};

/// How long after the faults a watcher must have seen everything.
const HEALING: Duration = Duration::from_secs(40);
/// Pause after a connection that failed.
const PAUSE: Duration = Duration::from_millis(50);

/// Who the watcher is and what it works with.
pub(crate) struct Watcher {
    pub(crate) seed: u64,
    pub(crate) nodes: u64,
    pub(crate) writers: u64,
    pub(crate) env: Env,
    pub(crate) progress: Progress,
    /// When the faults end.
    pub(crate) until: Duration,
}

/// Watches until everything that the writers were promised has been seen.
pub(crate) async fn watch(watcher: Watcher) {
    let mut rng = StdRng::seed_from_u64(watcher.seed);
    let (mut seen, mut cursor) = (WatchRecord::default(), Revision::ZERO);
    while watcher.progress.last(watcher.writers).is_none_or(|last| cursor < last) {
        if turmoil::elapsed() > watcher.until + HEALING {
            let text = format!("liveness: a watcher is at {cursor} and nothing comes {HEALING:?} after the faults");
            watcher.progress.violation(text);
            break;
        }
        let node = rng.random_range(1..=watcher.nodes);
        let stay = Duration::from_millis(rng.random_range(200..4000));
        seen.connections += 1;
        let watching = follow(&watcher, node, &mut cursor, &mut seen);
        if let Ok(None) = tokio::time::timeout(stay, watching).await {
            tokio::time::sleep(PAUSE).await;
        }
    }
    watcher.progress.watched(seen);
}

/// Takes batches until the connection breaks or ends.
async fn follow(watcher: &Watcher, node: u64, cursor: &mut Revision, seen: &mut WatchRecord) -> Option<()> {
    let mut session = Session::connect(&*watcher.env.network, node).await.ok()?;
    session.start(&Ask::Watch(*cursor)).await.ok()?;
    loop {
        match session.next().await.ok()? {
            Answer::Batch { revision, events } => {
                seen.batches.push((revision, events));
                *cursor = revision.max(*cursor);
                if watcher.progress.last(watcher.writers).is_some_and(|last| *cursor >= last) {
                    return Some(());
                }
            }
            Answer::Compacted(oldest) => {
                seen.compacted.push(oldest);
                return None;
            }
            _ => return None,
        }
    }
}
