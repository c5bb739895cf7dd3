//! A client that watches everything through changing nodes, and always resumes after the last batch
//! it has seen; sometimes it reads slowly. When its position is compacted it reads the state, and
//! goes on after that.

use std::time::Duration;

use quorate_env::Env;
use quorate_store::Revision;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::exchange::{Seen, StoreProgress, WatchRecord};
use crate::gateway::{Answer, GatewayRequest, Session};
use crate::rounds::Rounds;

/// How long after the faults a watcher must have seen everything.
const HEALING: Duration = Duration::from_secs(40);
/// Pause after a connection that failed.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest pause of a slow reader between two batches, milliseconds.
const MAX_PAUSE_MS: u64 = 400;
/// Longest time that a watcher stays away, milliseconds.
const MAX_AWAY_MS: u64 = 6000;
/// How long a read may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// The settings of a watcher.
pub(crate) struct Watcher {
    pub(crate) seed: u64,
    pub(crate) nodes: u64,
    pub(crate) writers: u64,
    pub(crate) env: Env,
    pub(crate) progress: StoreProgress,
    pub(crate) rounds: Rounds,
}

/// Watches, every round until everything that the writers were promised has been seen.
pub(crate) async fn watch(watcher: Watcher) {
    let mut rng = StdRng::seed_from_u64(watcher.seed);
    let (mut seen, mut cursor) = (WatchRecord::default(), Revision::ZERO);
    let mut coming = Some(watcher.rounds.current());
    while let Some(round) = coming {
        watch_until(&watcher, round.until, &mut rng, &mut cursor, &mut seen).await;
        watcher.progress.watcher_done();
        coming = watcher.rounds.after(round).await;
    }
    watcher.progress.watched(seen);
}

/// One round, whose faults end then.
async fn watch_until(
    watcher: &Watcher,
    until: Duration,
    rng: &mut StdRng,
    cursor: &mut Revision,
    seen: &mut WatchRecord,
) {
    while watcher.progress.last(watcher.writers).is_none_or(|last| cursor.get() < last) {
        if turmoil::elapsed() > until + HEALING {
            let text = format!(
                "liveness: a watcher is at {cursor} and nothing comes {HEALING:?} after the faults"
            );
            return watcher.progress.violation(text);
        }
        if rng.random_ratio(1, 8) && turmoil::elapsed() < until {
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..MAX_AWAY_MS))).await;
        }
        let node = rng.random_range(1..=watcher.nodes);
        let stay = Duration::from_millis(rng.random_range(200..4000));
        let pause = rng
            .random_ratio(1, 6)
            .then(|| Duration::from_millis(rng.random_range(50..MAX_PAUSE_MS)));
        let watching = follow(watcher, (node, pause), cursor, seen);
        if let Ok(None) = tokio::time::timeout(stay, watching).await {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Takes batches until the connection breaks or ends.
async fn follow(
    watcher: &Watcher,
    (node, pause): (u64, Option<Duration>),
    cursor: &mut Revision,
    seen: &mut WatchRecord,
) -> Option<()> {
    let mut session = Session::connect(&*watcher.env.network, node).await.ok()?;
    session.start(&GatewayRequest::Watch(*cursor)).await.ok()?;
    loop {
        match session.next().await.ok()? {
            Answer::Batch { revision, events } => {
                seen.seen.push(Seen::Batch(revision, events));
                *cursor = revision.max(*cursor);
                if watcher.progress.last(watcher.writers).is_some_and(|last| cursor.get() >= last) {
                    return Some(());
                }
                if let Some(pause) = pause {
                    tokio::time::sleep(pause).await;
                }
            }
            Answer::Compacted(oldest) => {
                seen.seen.push(Seen::Compacted { oldest, time: turmoil::elapsed() });
                let mut session = Session::connect(&*watcher.env.network, node).await.ok()?;
                let Ok(Answer::Read { at, .. }) =
                    session.ask(&GatewayRequest::Read(vec![]), ANSWER_LIMIT).await
                else {
                    return None;
                };
                seen.seen.push(Seen::Restarted(at));
                *cursor = at.max(*cursor);
                return None;
            }
            _ => return None,
        }
    }
}
