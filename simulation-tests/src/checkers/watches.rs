//! Watchers against the history: everything, in order, once, each transaction whole.

use quorate_store::Revision;

use super::chronicle::Chronicle;
use crate::workload::WatchRecord;

/// Everything that is wrong with what the watchers saw.
pub(super) fn check(chronicle: &Chronicle<'_>, watches: &[WatchRecord]) -> Vec<String> {
    watches.iter().zip(1..).filter_map(|(watch, number)| check_one(chronicle, watch, number)).collect()
}

fn check_one(chronicle: &Chronicle<'_>, watch: &WatchRecord, number: usize) -> Option<String> {
    if let Some(oldest) = watch.compacted.first() {
        return Some(format!("watcher {number}: told that only {oldest} and later is kept, though everything is"));
    }
    let mut expected = Revision::ZERO.next();
    for (revision, events) in &watch.batches {
        // A transaction that changed nothing takes a revision and is no batch of any watch.
        while chronicle.batch(expected).is_some_and(|batch| batch.events.is_empty()) {
            expected = expected.next();
        }
        let revision = *revision;
        if revision < expected {
            return Some(format!("watcher {number}: revision {revision} comes when {expected} is due"));
        }
        if revision > expected {
            return Some(format!("watcher {number}: revision {expected} is missing before {revision}"));
        }
        if chronicle.batch(revision).is_none_or(|batch| *batch.events != **events) {
            return Some(format!("watcher {number}: the batch at {revision} is not what was committed"));
        }
        expected = expected.next();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::{Event, Operation, State, Txn};

    #[test]
    fn finds_gaps_repeats_and_changes() {
        let mut state = State::new();
        let txn = |value: &'static str| {
            let operations = vec![Operation::Put { key: "a".into(), value: value.into() }];
            Txn { conditions: vec![], operations }
        };
        let nothing = Txn { conditions: vec![], operations: vec![Operation::Delete { key: "none".into() }] };
        let txns = [txn("1"), nothing, txn("3"), txn("4")];
        let history: Vec<_> = txns.iter().filter_map(|txn| state.apply(0, txn).batch).collect();
        let chronicle = Chronicle::new(&history).unwrap();
        let check = |revisions: &[usize], expect: Option<&str>| {
            let batch = |number: &usize| (history[number - 1].revision, history[number - 1].events.to_vec());
            let watch = WatchRecord { batches: revisions.iter().map(batch).collect(), ..WatchRecord::default() };
            let found = check_one(&chronicle, &watch, 1);
            assert_eq!(found.is_some(), expect.is_some(), "{found:?}");
            assert!(expect.is_none_or(|expect| found.as_ref().unwrap().contains(expect)), "{found:?}");
        };
        check(&[1, 3, 4], None);
        check(&[1], None);
        check(&[1, 4], Some("revision 3 is missing"));
        check(&[1, 3, 3], Some("revision 3 comes when 4"));
        check(&[1, 4, 3], Some("missing"));
        let changed: Vec<(Revision, Vec<Event>)> = vec![(Revision::new(1), vec![])];
        let watch = WatchRecord { batches: changed, ..WatchRecord::default() };
        assert!(check_one(&chronicle, &watch, 1).unwrap().contains("not what was committed"));
    }
}
