//! The ResourceQuota controller: `status` says what is allowed and what is used.
//!
//! Writes that use more charge the quota themselves; this controller finds what was given back
//! (deletions, pods that end), what was written past admission, and new quotas. Invariants: what is
//! written was counted in a state in which the quota was as it is when it is written, so no charge
//! is lost; while there is no quota, no change is watched. Reading order: `recount_queue`, `count`.

mod count;
mod recount_queue;

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::context::Context;
use quorate_admission::QuotaLocks;
use quorate_admission::plugins::quota::QUOTAS;
use quorate_registry::error::Error;
use quorate_registry::keys;
use recount_queue::RecountQueue;

/// How long changes are batched before they are processed.
const BATCH_WINDOW: Duration = Duration::from_millis(100);
/// The time between two counts of a namespace: at least this long, and as many times as long as the
/// count took.
const MIN_RECOUNT_INTERVAL: Duration = Duration::from_secs(1);
const INTERVAL_PER_COUNT: u32 = 10;
const MAX_RECOUNT_INTERVAL: Duration = Duration::from_secs(30);
/// How often all namespaces are counted again, whatever was observed of them.
const RESYNC_PERIOD: Duration = Duration::from_secs(300);

/// Keeps the quotas; returns when there are none any more, or with an error, after which it is
/// started again.
pub(super) async fn run(context: &Context, locks: &QuotaLocks) -> Result<(), Error> {
    let prefix = context.resource(QUOTAS)?.prefix(None);
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
    if snapshot.range(&prefix, None).next().is_none() {
        drop(snapshot);
        changes.next().await?;
    }
    drop(changes);
    track(context, locks).await
}

/// The same while there are quotas.
async fn track(context: &Context, locks: &QuotaLocks) -> Result<(), Error> {
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(keys::objects(), snapshot.revision())?;
    let mut queue = RecountQueue::new(context)?;
    queue.read(&snapshot).await;
    drop(snapshot);
    let mut resync_at = Instant::now() + RESYNC_PERIOD;
    while !queue.is_empty() {
        while let Some(batch) = changes.try_next()? {
            tokio::task::consume_budget().await;
            queue.observe(&batch);
        }
        if Instant::now() >= resync_at {
            queue.enqueue_all();
            resync_at = Instant::now() + RESYNC_PERIOD;
        }
        for namespace in queue.take_due(Instant::now()) {
            let begun = Instant::now();
            let counted = context.work.item(count::recount(context, locks, &namespace)).await;
            if let Err(error) = &counted {
                tracing::warn!(%error, %namespace, "the quotas of a namespace cannot be settled yet");
            }
            let interval = (begun.elapsed() * INTERVAL_PER_COUNT)
                .clamp(MIN_RECOUNT_INTERVAL, MAX_RECOUNT_INTERVAL);
            queue.finish(&namespace, counted.ok(), Instant::now() + interval);
        }
        let next = queue.next_due().unwrap_or(resync_at).min(resync_at);
        tokio::select! {
            batch = changes.next() => {
                queue.observe(&batch?);
                sleep(BATCH_WINDOW).await;
            }
            () = sleep_until(next) => {}
        }
    }
    Ok(())
}
