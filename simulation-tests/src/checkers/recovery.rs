//! A run in which the quorum was lost and recovered: two histories, and what must have come from
//! the first to the second.
//!
//! - The second begins, at its first revision, with exactly the state of the member that was
//!   recovered: one that goes on, by what clients had asked for, from a state that a member which
//!   was left had applied.
//! - Nothing that a member which was left had applied, and on its disk, is lost. What was
//!   acknowledged after that may be, and nothing else.
//! - Every answer belongs to one of the two histories and is true there; real time goes through
//!   both. Nothing happens in both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use quorate_raft::ClusterId;
use quorate_store::{Batch, Entry, NodeId, Operation, Retention, Revision, Snapshot};

use super::history::History;
use super::retention::KeptHistory;
use super::{Samples, operations, watches};
use crate::workload::{Decision, Seen, StoreCall, StoreExchange, StoreRecords, WatchRecord};

/// What the system keeps for itself.
const OWN_KEYS: &[u8] = b"s/";
/// The largest number that a member ever had.
const LAST_MEMBER: &str = "s/members/last";

/// What was lost, and what was left.
pub(crate) struct LostQuorum {
    pub(crate) old: ClusterId,
    pub(crate) new: ClusterId,
    /// The newest revision that a member which was left had applied, with all that it had written
    /// on its disk.
    pub(crate) applied: Revision,
    /// The newest one in the recovered member's state, without its log.
    pub(crate) certain: Revision,
    /// Where the new history begins.
    pub(crate) base: Revision,
    /// The largest number of a member.
    pub(crate) largest: NodeId,
    /// The recovered member's state, with its log.
    pub(crate) snapshot: Snapshot,
}

/// Everything that is wrong; `before` is what was seen of the first history.
pub(super) fn check(
    lost: &LostQuorum,
    before: &Samples,
    history: &[Arc<Batch>],
    (records, samples, retention): (&StoreRecords, &Samples, Retention),
) -> Result<Vec<String>, String> {
    let (first_watches, second_watches): (Vec<_>, Vec<_>) =
        records.watches.iter().map(|watch| split(watch, lost.base)).unzip();
    let first_history = with_told(before.archive(), &first_watches);
    let old = History::new(&first_history)?;
    let new = History::after(lost.base, lost.entries(), history)?;
    let mut violations = lost.check_survival(&old, records);
    // What was told of the first history's last moments, and seen of no node before all power
    // went, may be lost as well.
    let first =
        records.exchanges.iter().filter(|exchange| is_of(exchange, |at| at <= old.newest()));
    let second = records.exchanges.iter().filter(|exchange| is_of(exchange, |at| at >= lost.base));
    let (first, second): (Vec<StoreExchange>, Vec<StoreExchange>) =
        (first.cloned().collect(), second.cloned().collect());
    violations.extend(operations::check(&old, &first));
    violations.extend(operations::check(&new, &second));
    violations.extend(operations::check_real_time(&records.exchanges));
    let kept = KeptHistory::new(before.archive(), retention, operations::asked(&first));
    violations.extend(watches::check(&old, &kept, &first_watches));
    let kept = KeptHistory::after(lost.base.get(), history, retention, operations::asked(&second));
    violations.extend(watches::check(&new, &kept, &second_watches));
    violations.extend(before.check(&old));
    violations.extend(samples.check(&new));
    let clients = history
        .iter()
        .flat_map(|batch| batch.events.iter())
        .filter(|event| !event.key.starts_with(OWN_KEYS));
    let twice = clients.filter_map(|event| event.current.as_ref()).filter(|entry| {
        let before = old.written(&entry.value);
        before.is_some_and(|at| at <= lost.survived())
    });
    violations.extend(
        twice.map(|entry| format!("recovery: what {} wrote was there before", entry.modified)),
    );
    Ok(violations)
}

/// The first history to its end: its last transactions may have been seen by watchers alone, when
/// the node that told them of one lost its power in the same moment.
fn with_told(seen: &[Arc<Batch>], watches: &[WatchRecord]) -> Vec<Arc<Batch>> {
    let mut told = BTreeMap::new();
    for batch in watches.iter().flat_map(|watch| &watch.seen) {
        if let Seen::Batch(revision, events) = batch {
            told.entry(*revision).or_insert(events);
        }
    }
    let mut history = seen.to_vec();
    let (mut next, time_ms) =
        history.last().map_or((Revision::new(1), 0), |last| (last.revision.next(), last.time_ms));
    while let Some(events) = told.get(&next) {
        history.push(Arc::new(Batch {
            revision: next,
            time_ms,
            events: events.as_slice().into(),
            origin: Bytes::new(),
        }));
        next = next.next();
    }
    history
}

/// Whether an exchange may belong to a history: by the revision that it was told, or because it was
/// told none.
fn is_of(exchange: &StoreExchange, holds: impl Fn(Revision) -> bool) -> bool {
    operations::shown(exchange).is_none_or(holds)
}

/// What a watcher saw of each of the two histories. The news that the first is over begins the
/// second.
fn split(watch: &WatchRecord, base: Revision) -> (WatchRecord, WatchRecord) {
    let at = |seen: &Seen| match seen {
        Seen::Batch(at, _) | Seen::Compacted { oldest: at, .. } | Seen::Restarted(at) => *at,
    };
    let (first, second) = watch.seen.iter().cloned().partition(|seen| at(seen) < base);
    (WatchRecord { seen: first }, WatchRecord { seen: second })
}

impl LostQuorum {
    /// The last revision of the first history that the second goes on from.
    fn survived(&self) -> Revision {
        self.snapshot.revision()
    }

    /// What the second history begins with.
    fn entries(&self) -> BTreeMap<Bytes, Entry> {
        let restamped = |(key, entry): (&Bytes, &Entry)| {
            let mut entry = entry.clone();
            if entry.modified > self.certain {
                entry.modified = self.base;
                entry.created =
                    if entry.created > self.certain { self.base } else { entry.created };
            }
            (key.clone(), entry)
        };
        let mut entries: BTreeMap<Bytes, Entry> =
            self.snapshot.range(b"", None).map(restamped).collect();
        let note =
            |value: String| Entry { value: value.into(), created: self.base, modified: self.base };
        entries.insert(format!("s/given-up/{}", self.old).into(), note(self.new.to_string()));
        let noted = entries
            .get(LAST_MEMBER.as_bytes())
            .and_then(|entry| std::str::from_utf8(&entry.value).ok());
        let largest = noted
            .and_then(|number| number.parse().ok())
            .max(Some(self.largest))
            .unwrap_or_default();
        entries.insert(LAST_MEMBER.into(), note(largest.to_string()));
        entries
    }

    fn check_survival(&self, old: &History<'_>, records: &StoreRecords) -> Vec<String> {
        let survived = self.survived();
        if survived < self.applied {
            let applied = self.applied;
            return vec![format!(
                "recovery: {applied} had been applied by a member that was left, and {survived} is left"
            )];
        }
        let mut violations = Vec::new();
        // What the member had not applied may differ from what others had committed there.
        let at = self.applied.min(old.newest());
        let expected: BTreeMap<&Bytes, &Entry> = old.state(at).collect();
        let found: BTreeMap<&Bytes, &Entry> = self.snapshot.range(b"", None).collect();
        let asked = asked(records);
        let keys: BTreeSet<&Bytes> = expected.keys().chain(found.keys()).copied().collect();
        for key in keys.into_iter().filter(|key| !key.starts_with(OWN_KEYS)) {
            let (expected, found) = (expected.get(key), found.get(key));
            // What the recovered member had beyond that counts as committed.
            let went_on = survived > at && asked.contains(&(key, found.map(|entry| &entry.value)));
            if expected != found && !went_on {
                let key = String::from_utf8_lossy(key);
                violations
                    .push(format!("recovery: {key} at {survived} is not what it was at {at}"));
            }
        }
        violations
    }
}

/// What clients have asked for and may have got: keys with their new values.
fn asked(records: &StoreRecords) -> BTreeSet<(&Bytes, Option<&Bytes>)> {
    let txns = records.exchanges.iter().filter_map(|exchange| match &exchange.what {
        StoreCall::Txn(txn, Decision::Unknown | Decision::Decided(_)) => Some(txn),
        _ => None,
    });
    let operations = txns.flat_map(|txn| &txn.operations);
    operations.map(|operation| (operation.key(), value(operation))).collect()
}

fn value(operation: &Operation) -> Option<&Bytes> {
    match operation {
        Operation::Put { value, .. } => Some(value),
        Operation::Delete { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_watchers_saw_ends_the_first_history() {
        let batch = |revision| Batch {
            revision: Revision::new(revision),
            time_ms: 7,
            events: [].into(),
            origin: Bytes::new(),
        };
        let watch = |revisions: &[u64]| {
            let seen =
                revisions.iter().map(|revision| Seen::Batch(Revision::new(*revision), vec![]));
            WatchRecord { seen: seen.collect() }
        };
        let check = |seen: &[u64], watches: &[&[u64]], expect: &[u64]| {
            let seen: Vec<_> = seen.iter().map(|revision| Arc::new(batch(*revision))).collect();
            let watches: Vec<_> = watches.iter().map(|revisions| watch(revisions)).collect();
            let history = with_told(&seen, &watches);
            assert_eq!(
                history.iter().map(|batch| batch.revision.get()).collect::<Vec<_>>(),
                expect
            );
        };
        check(&[1, 2], &[], &[1, 2]);
        check(&[1, 2], &[&[2, 3], &[3, 4], &[6]], &[1, 2, 3, 4]);
        check(&[], &[&[1]], &[1]);
    }
}
