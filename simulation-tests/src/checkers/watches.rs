//! The checker of watches of the store: every event in order, once, each transaction whole; only
//! compacted events may be missing.

use quorate_store::Revision;

use super::history::History;
use super::retention::KeptHistory;
use crate::workload::{Seen, WatchRecord};

/// Everything that is wrong with what the watchers saw.
pub(super) fn check(
    history: &History<'_>,
    kept: &KeptHistory,
    watches: &[WatchRecord],
) -> Vec<String> {
    watches
        .iter()
        .zip(1..)
        .filter_map(|(watch, number)| check_one(history, kept, watch, number))
        .collect()
}

fn check_one(
    history: &History<'_>,
    kept: &KeptHistory,
    watch: &WatchRecord,
    number: usize,
) -> Option<String> {
    let mut expected = history.base().next();
    for seen in &watch.seen {
        let (revision, events) = match seen {
            Seen::Batch(revision, events) => (revision, events),
            Seen::Compacted { oldest, time } => {
                // A watcher from before the beginning is told where the history begins.
                let anew = *oldest == history.base() && *oldest > Revision::ZERO;
                if let Err(wrong) =
                    kept.check_refusal(expected.get() - 1, Some(oldest.get()), *time)
                    && !anew
                {
                    return Some(format!("watcher {number}: {wrong}"));
                }
                continue;
            }
            Seen::Restarted(at) => {
                expected = expected.max(at.next());
                continue;
            }
        };
        // A transaction that changed nothing takes a revision and is no batch of any watch.
        while history.batch(expected).is_some_and(|batch| batch.events.is_empty()) {
            expected = expected.next();
        }
        let revision = *revision;
        if revision < expected {
            return Some(format!(
                "watcher {number}: revision {revision} comes when {expected} is due"
            ));
        }
        if revision > expected {
            return Some(format!(
                "watcher {number}: revision {expected} is missing before {revision}"
            ));
        }
        if history.batch(revision).is_none_or(|batch| *batch.events != **events) {
            return Some(format!(
                "watcher {number}: the batch at {revision} is not what was committed"
            ));
        }
        expected = expected.next();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::{Operation, State, Txn};

    #[test]
    fn finds_gaps_repeats_and_changes() {
        let mut state = State::new();
        let txn = |value: &'static str| {
            let operations = vec![Operation::Put { key: "a".into(), value: value.into() }];
            Txn { conditions: vec![], operations, ..Txn::default() }
        };
        let nothing = Txn {
            conditions: vec![],
            operations: vec![Operation::Delete { key: "none".into() }],
            ..Txn::default()
        };
        let txns = [txn("1"), nothing, txn("3"), txn("4")];
        let batches: Vec<_> = txns.iter().filter_map(|txn| state.apply(0, txn).batch).collect();
        let history = History::new(&batches).unwrap();
        let kept = KeptHistory::everything();
        let check = |revisions: &[usize], expect: Option<&str>| {
            let batch = |number: &usize| {
                Seen::Batch(batches[number - 1].revision, batches[number - 1].events.to_vec())
            };
            let watch = WatchRecord { seen: revisions.iter().map(batch).collect() };
            let found = check_one(&history, &kept, &watch, 1);
            assert_eq!(found.is_some(), expect.is_some(), "{found:?}");
            assert!(
                expect.is_none_or(|expect| found.as_ref().unwrap().contains(expect)),
                "{found:?}"
            );
        };
        check(&[1, 3, 4], None);
        check(&[1], None);
        check(&[1, 4], Some("revision 3 is missing"));
        check(&[1, 3, 3], Some("revision 3 comes when 4"));
        check(&[1, 4, 3], Some("missing"));
        let watch = WatchRecord { seen: vec![Seen::Batch(Revision::new(1), vec![])] };
        assert!(check_one(&history, &kept, &watch, 1).unwrap().contains("not what was committed"));
    }
}
