//! The count of what the objects of a namespace use, and its write to the quotas.
//!
//! Invariant: a quota is written only while it is as it was in the state that was counted. Clients'
//! writes charge it all the time, so what has changed since the count began is added before each
//! attempt, which costs only what has changed; from the second attempt on the count takes the quota
//! lock of this node.

use quorate_meta::{Time, Value};
use quorate_store::{Revision, Snapshot};

use crate::context::{Context, is_conflict, is_settled, skip_failed_object};
use quorate_admission::QuotaLocks;
use quorate_admission::plugins::quota::{self, QUOTAS, Quota, Tally};
use quorate_registry::error::Error;
use quorate_registry::write::Target;
use quorate_registry::{Part, stored_codec};

/// Objects that are counted before other tasks may run.
const STEP: usize = 256;
/// Attempts to write a quota that is charged at the same time, count.
const ATTEMPTS: usize = 16;

/// The outcome of a count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// The state that was counted.
    pub(super) at: Revision,
    /// Whether every quota says now what was counted.
    pub(super) is_written: bool,
}

/// Counts a namespace and writes it down.
pub(super) async fn recount(
    context: &Context,
    locks: &QuotaLocks,
    namespace: &str,
) -> Result<Counted, Error> {
    let now = Time::from_ms(context.env.clock.now_ms());
    let mut snapshot = context.store.snapshot();
    let (names, quotas): (Vec<_>, Vec<_>) =
        quotas_of(context, &snapshot, namespace)?.into_iter().unzip();
    let mut tally = Tally::new(quotas);
    count(context, &snapshot, namespace, &mut tally, now).await;
    for attempt in 0..ATTEMPTS {
        let _lock = if attempt == 0 { None } else { locks.wait(namespace).await };
        let newer = context.store.snapshot();
        catch_up(context, [&snapshot, &newer], namespace, &mut tally, now);
        snapshot = newer;
        let mut is_written = true;
        for (name, (quota, used)) in names.iter().zip(tally.lines()) {
            let Some(object) = read(context, &snapshot, [namespace, name])? else {
                continue;
            };
            // A quota that allows something else by now is queued for that.
            let is_same = Quota::of(&object).allows_the_same(quota);
            if let Some(wanted) = quota::settled(&object, used).filter(|_| is_same) {
                is_written &= write(context, [namespace, name], &wanted).await?;
            }
        }
        if is_written {
            return Ok(Counted { at: snapshot.revision(), is_written });
        }
    }
    Ok(Counted { at: snapshot.revision(), is_written: false })
}

/// The quotas of a namespace that can be read, with their names.
fn quotas_of(
    context: &Context,
    snapshot: &Snapshot,
    namespace: &str,
) -> Result<Vec<(String, Quota)>, Error> {
    let resource = &*context.resource(QUOTAS)?;
    let entries = snapshot.range(&resource.prefix(Some(namespace)), None);
    let read = entries.filter_map(|(key, entry)| {
        let (_, name) = resource.parse_key(key)?;
        Some((name.to_owned(), Quota::of(&stored_codec::decode(resource, entry).ok()?)))
    });
    Ok(read.collect())
}

/// Counts every object that a quota measures.
async fn count(
    context: &Context,
    snapshot: &Snapshot,
    namespace: &str,
    tally: &mut Tally,
    now: Time,
) {
    let catalogue = context.catalogue.load();
    for resource in catalogue.stored().filter(|resource| resource.namespaced) {
        let Some(counted) = quota::Counted::of(context.names, resource) else {
            continue;
        };
        if !tally.begin(&counted) {
            continue;
        }
        for (index, (_, entry)) in
            snapshot.range(&resource.prefix(Some(namespace)), None).enumerate()
        {
            if index % STEP == STEP - 1 {
                tokio::task::yield_now().await;
            }
            tally.add(&counted, &counted.read(resource, entry), now);
        }
    }
}

/// Adds what differs between two states.
fn catch_up(
    context: &Context,
    [older, newer]: [&Snapshot; 2],
    namespace: &str,
    tally: &mut Tally,
    now: Time,
) {
    let catalogue = context.catalogue.load();
    for (key, before, after) in newer.changes_from(older) {
        let Some(resource) = catalogue.of_key(key).filter(|resource| resource.namespaced) else {
            continue;
        };
        if resource.parse_key(key).is_none_or(|(own, _)| own != Some(namespace)) {
            continue;
        }
        let Some(counted) = quota::Counted::of(context.names, resource) else {
            continue;
        };
        if let Some(entry) = before {
            tally.remove(&counted, &counted.read(resource, entry), now);
        }
        if let Some(entry) = after {
            tally.add(&counted, &counted.read(resource, entry), now);
        }
    }
}

/// A quota, if it is there and can be read.
fn read(
    context: &Context,
    snapshot: &Snapshot,
    [namespace, name]: [&str; 2],
) -> Result<Option<Value>, Error> {
    let resource = &*context.resource(QUOTAS)?;
    let entry = snapshot.get(&resource.key(Some(namespace), name));
    Ok(entry.and_then(|entry| stored_codec::decode(resource, entry).ok()))
}

/// Writes the status of a quota; false when the quota has changed meanwhile, which its
/// `resourceVersion` tells.
async fn write(
    context: &Context,
    [namespace, name]: [&str; 2],
    wanted: &Value,
) -> Result<bool, Error> {
    let target = Target { resource: &*context.resource(QUOTAS)?, namespace: Some(namespace), name };
    let options = context.update_options(Part::Status);
    match context.writer.update(target, options, |_| Ok(wanted.clone())).await {
        Err(error) if is_conflict(&error) => Ok(false),
        Err(error) if is_settled(&error) => Ok(true),
        written => skip_failed_object(written.map(drop), target).map(|()| true),
    }
}
