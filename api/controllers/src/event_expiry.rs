//! The expiry of Events, a lifetime after they were last written.
//!
//! Invariant: an event whose revision is at most the one that was newest a lifetime ago has
//! expired; nothing is parsed. Which revision was newest when is kept in memory, so a new leader
//! lets events live for one more lifetime at most.

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use quorate_store::Revision;
use tokio::time::Instant;

use super::context::{Context, is_conflict, is_object_error, is_settled};
use quorate_registry::error::Error;
use quorate_registry::write::{DeleteOptions, Preconditions, Target};

/// Sweeps in one lifetime: an event lives up to this part longer than it should.
const SWEEPS_PER_LIFETIME: u32 = 60;
/// Deletions under way at a time.
const CONCURRENT_DELETIONS: usize = 16;

/// Sweeps for ever. After a failed sweep the next one removes what has expired by then.
pub(super) async fn run(context: &Context, lifetime: Duration) -> Result<(), Error> {
    let mut times = RevisionTimes::default();
    let pause = (lifetime / SWEEPS_PER_LIFETIME).max(Duration::from_millis(100));
    loop {
        let expired = times.observe(Instant::now(), context.store.snapshot().revision(), lifetime);
        if let Some(revision) = expired
            && let Err(error) = context.work.item(sweep(context, revision)).await
        {
            tracing::warn!(%error, controller = context.manager, "events that have expired cannot be removed yet");
        }
        tokio::time::sleep(pause).await;
    }
}

/// The newest revision at each sweep.
#[derive(Debug, Default)]
struct RevisionTimes(VecDeque<(Instant, Revision)>);

impl RevisionTimes {
    /// Observes the newest revision; gives the newest one that was observed at least a lifetime
    /// ago.
    fn observe(&mut self, now: Instant, newest: Revision, lifetime: Duration) -> Option<Revision> {
        self.0.push_back((now, newest));
        let mut expired = None;
        while let Some((noted, revision)) = self.0.front()
            && now.duration_since(*noted) >= lifetime
        {
            expired = Some(*revision);
            self.0.pop_front();
        }
        expired
    }
}

/// Removes every event that has not changed after the revision. One that cannot be removed delays
/// no other.
async fn sweep(context: &Context, revision: Revision) -> Result<(), Error> {
    let resource = &*context.resource("events")?;
    let snapshot = context.store.snapshot();
    let mut old = snapshot
        .range(&resource.prefix(None), None)
        .filter(|(_, entry)| entry.modified <= revision);
    let (mut running, mut failed) = (FuturesUnordered::new(), 0);
    loop {
        while running.len() < CONCURRENT_DELETIONS
            && let Some((key, entry)) = old.next()
        {
            let Some((namespace, name)) = resource.parse_key(key) else {
                continue;
            };
            tokio::task::consume_budget().await;
            let target = Target { resource, namespace, name };
            running.push(remove(context, target, entry.modified));
        }
        match running.next().await {
            Some(Err(error)) if is_object_error(&error) => {
                failed += 1;
                tracing::debug!(%error, "an event that has expired cannot be removed yet");
            }
            Some(removed) => removed?,
            None => break,
        }
    }
    if failed > 0 {
        tracing::warn!(failed, "events that have expired cannot be removed yet");
    }
    Ok(())
}

async fn remove(context: &Context, target: Target<'_>, revision: Revision) -> Result<(), Error> {
    let preconditions = Preconditions { uid: None, resource_version: Some(revision.to_string()) };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    // No client deletes it, so nothing is asked.
    match context.writer.clone().without_admission().delete(target, &options).await {
        // Gone, or written again meanwhile, and then not expired.
        Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
        removed => removed.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_revisions_of_a_lifetime_ago_have_expired() {
        let lifetime = Duration::from_secs(60);
        let (start, mut times) = (Instant::now(), RevisionTimes::default());
        let mut check = |seconds: u64, newest: u64, expect: Option<u64>| {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(
                times.observe(now, Revision::new(newest), lifetime),
                expect.map(Revision::new),
                "{seconds}"
            );
        };
        check(0, 5, None);
        check(30, 7, None);
        check(59, 9, None);
        check(60, 9, Some(5));
        check(89, 9, None);
        check(125, 12, Some(9));
        check(126, 12, None);
    }
}
