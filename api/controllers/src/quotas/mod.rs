//! ResourceQuotas: each says in its status what is allowed and what is used.
//!
//! Writes that use more charge it themselves; this controller finds what was given back (by deletions, by pods that end), what was
//! written past admission, and quotas that are new. `recount_queue` knows which namespaces have to be counted again, `count` does it. Invariants:
//! what is written down was counted in a state in which the quota was as it still is when it is written, so no charge is ever lost;
//! where there is no quota, nothing is followed.

mod count;
mod recount_queue;

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::context::Context;
use quorate_admission::QuotaLocks;
use quorate_admission::plugins::quota::QUOTAS;
use quorate_registry::error::Error;
use quorate_registry::keys;
use recount_queue::Book;

/// How long changes are let come together before they are looked at.
const GATHER: Duration = Duration::from_millis(100);
/// The time between two counts of a namespace: at least this long, and as many times as long as the count took.
const REST: Duration = Duration::from_secs(1);
const REST_PER_COUNT: u32 = 10;
const LONGEST_REST: Duration = Duration::from_secs(30);
/// How often all are counted again, whatever was seen of them.
const COUNT_ALL: Duration = Duration::from_secs(300);

/// Looks after the quotas; returns when there are none any more, or with an error, after which it is started again.
pub(super) async fn run(context: &Context, locks: &QuotaLocks) -> Result<(), Error> {
    let prefix = context.resource(QUOTAS)?.prefix(None);
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
    if snapshot.range(&prefix, None).next().is_none() {
        drop(snapshot);
        changes.next().await?;
    }
    drop(changes);
    follow(context, locks).await
}

/// The same while there are quotas.
async fn follow(context: &Context, locks: &QuotaLocks) -> Result<(), Error> {
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(keys::objects(), snapshot.revision())?;
    let mut book = Book::new(context)?;
    book.read(&snapshot).await;
    drop(snapshot);
    let mut all_at = Instant::now() + COUNT_ALL;
    while !book.is_empty() {
        while let Some(batch) = changes.try_next()? {
            tokio::task::consume_budget().await;
            book.observe(&batch);
        }
        if Instant::now() >= all_at {
            book.doubt_all();
            all_at = Instant::now() + COUNT_ALL;
        }
        for namespace in book.take_due(Instant::now()) {
            let begun = Instant::now();
            let counted = count::settle(context, locks, &namespace).await;
            if let Err(error) = &counted {
                tracing::warn!(%error, %namespace, "the quotas of a namespace cannot be settled yet");
            }
            let rest = (begun.elapsed() * REST_PER_COUNT).clamp(REST, LONGEST_REST);
            book.counted(&namespace, counted.ok(), Instant::now() + rest);
        }
        let next = book.next_due().unwrap_or(all_at).min(all_at);
        tokio::select! {
            batch = changes.next() => {
                book.observe(&batch?);
                sleep(GATHER).await;
            }
            () = sleep_until(next) => {}
        }
    }
    Ok(())
}
