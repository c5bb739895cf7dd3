//! The checker of the store's transactions and reads against the history.
//!
//! - An acknowledged transaction is in the history at its revision, whole, and its conditions held
//!   just before.
//! - A refused one is not in the history. One whose fate is unknown is there whole, where its
//!   conditions held, or not at all.
//! - A conflict and a read show exactly the state of the revision that they name.
//! - Real time: what begins after something else has ended comes later in the history (writes) or
//!   sees it (reads). Together with the points above: everything is linearizable.

use std::time::Duration;

use bytes::Bytes;
use quorate_store::{Condition, Operation, Outcome, Revision, Txn};

use super::history::History;
use crate::workload::{Decision, StoreCall, StoreExchange};

/// Everything that is wrong with what the clients were told.
pub(super) fn check(history: &History<'_>, records: &[StoreExchange]) -> Vec<String> {
    let mut violations: Vec<String> =
        records.iter().filter_map(|record| check_one(history, record)).collect();
    violations.extend(check_uniqueness(records));
    violations.extend(check_real_time(records));
    violations
}

fn check_one(history: &History<'_>, record: &StoreExchange) -> Option<String> {
    let problem = match &record.what {
        StoreCall::Txn(txn, Decision::Decided(Outcome::Committed { revision })) => {
            committed(history, txn, *revision)
        }
        StoreCall::Txn(
            txn,
            Decision::Decided(Outcome::Conflict { condition, current, revision }),
        ) => {
            let condition = &txn.conditions[*condition];
            let seen = (current.as_ref(), history.get(condition.key(), *revision));
            if seen.0 != seen.1 {
                Err(format!(
                    "a conflict shows what {} did not hold at {revision}",
                    name(condition.key())
                ))
            } else if holds(history, condition, *revision) {
                Err(format!(
                    "a conflict though the condition on {} holds at {revision}",
                    name(condition.key())
                ))
            } else {
                Ok(())
            }
        }
        StoreCall::Txn(txn, Decision::Refused) => refused(history, txn),
        StoreCall::Txn(txn, Decision::Unknown) => match written(history, txn) {
            Some(revision) => committed(history, txn, revision),
            None => Ok(()),
        },
        StoreCall::Read { keys, at, found } if *at <= history.newest() => {
            let wrong =
                keys.iter().zip(found).find(|(key, entry)| history.get(key, *at) != entry.as_ref());
            wrong.map_or(Ok(()), |(key, _)| {
                Err(format!("a read at {at} shows what {} did not hold", name(key)))
            })
        }
        StoreCall::Read { at, .. } => Err(format!("a read at {at}, which was lost afterwards")),
    };
    problem.err().map(|problem| format!("{}: {problem}", who(record)))
}

fn committed(history: &History<'_>, txn: &Txn, revision: Revision) -> Result<(), String> {
    let Some(batch) = history.batch(revision) else {
        return Err(format!("the acknowledged transaction at {revision} is lost"));
    };
    let before = Revision::new(revision.get() - 1);
    for operation in &txn.operations {
        let event = batch.events.iter().find(|event| event.key == operation.key());
        let carried_out = match operation {
            Operation::Put { value, .. } => {
                event.and_then(|e| e.current.as_ref()).is_some_and(|e| e.value == *value)
            }
            Operation::Delete { key } => {
                event.map_or(history.get(key, before).is_none(), |event| event.current.is_none())
            }
        };
        if !carried_out {
            let key = name(operation.key());
            return Err(format!(
                "the acknowledged transaction at {revision} is lost: {key} was not changed as asked"
            ));
        }
    }
    match txn.conditions.iter().find(|condition| !holds(history, condition, before)) {
        Some(condition) => Err(format!(
            "committed at {revision} though the condition on {} does not hold",
            name(condition.key())
        )),
        None => Ok(()),
    }
}

fn refused(history: &History<'_>, txn: &Txn) -> Result<(), String> {
    let written = written(history, txn);
    written.map_or(Ok(()), |at| {
        Err(format!("a transaction that was called not applied is applied at {at}"))
    })
}

/// The revision of a transaction in the history, found by its values, which no other transaction
/// writes.
fn written(history: &History<'_>, txn: &Txn) -> Option<Revision> {
    txn.operations.iter().find_map(|operation| match operation {
        Operation::Put { value, .. } => history.written(value),
        Operation::Delete { .. } => None,
    })
}

fn holds(history: &History<'_>, condition: &Condition, at: Revision) -> bool {
    let entry = history.get(condition.key(), at);
    match condition {
        Condition::Modified { revision, .. } => {
            entry.map_or(Revision::ZERO, |entry| entry.modified) == *revision
        }
        Condition::Exists { .. } => entry.is_some(),
    }
}

fn check_uniqueness(records: &[StoreExchange]) -> Vec<String> {
    let mut revisions: Vec<Revision> = records.iter().filter_map(committed_at).collect();
    revisions.sort_unstable();
    let twice = revisions.windows(2).filter(|pair| pair[0] == pair[1]);
    twice.map(|pair| format!("revision {} was given to two transactions", pair[0])).collect()
}

/// One pass over beginnings and ends in order of time.
pub(super) fn check_real_time(records: &[StoreExchange]) -> Vec<String> {
    let known: Vec<(&StoreExchange, Revision)> =
        records.iter().filter_map(|record| Some((record, shown(record)?))).collect();
    let ends = known.iter().map(|(record, at)| (record.answered, true, *record, *at));
    let begins = known.iter().map(|(record, at)| (record.asked, false, *record, *at));
    let mut moments: Vec<(Duration, bool, &StoreExchange, Revision)> = ends.chain(begins).collect();
    // At the same moment beginnings come first: such operations overlap.
    moments.sort_by_key(|(time, ended, _, _)| (*time, *ended));
    let mut newest_at_begin = Vec::new();
    let mut newest = Revision::ZERO;
    for (_, ended, record, at) in moments {
        if ended {
            newest = newest.max(at);
        } else {
            newest_at_begin.push((record, at, newest));
        }
    }
    let stale = newest_at_begin.into_iter().filter_map(|(record, at, newest)| {
        let fine = if committed_at(record).is_some() { at > newest } else { at >= newest };
        (!fine).then(|| {
            format!("{}: it is at {at}, but {newest} was shown before it began", who(record))
        })
    });
    stale.collect()
}

/// The point of the history that the answer stands for.
pub(super) fn shown(record: &StoreExchange) -> Option<Revision> {
    match &record.what {
        StoreCall::Txn(
            _,
            Decision::Decided(Outcome::Committed { revision } | Outcome::Conflict { revision, .. }),
        ) => Some(*revision),
        StoreCall::Read { at, .. } => Some(*at),
        StoreCall::Txn(..) => None,
    }
}

/// When which committed revision was asked for.
pub(super) fn asked(records: &[StoreExchange]) -> Vec<(Duration, u64)> {
    records.iter().filter_map(|record| Some((record.asked, committed_at(record)?.get()))).collect()
}

fn committed_at(record: &StoreExchange) -> Option<Revision> {
    match &record.what {
        StoreCall::Txn(_, Decision::Decided(Outcome::Committed { revision })) => Some(*revision),
        _ => None,
    }
}

fn who(record: &StoreExchange) -> String {
    let kind = match &record.what {
        StoreCall::Read { .. } => "read",
        StoreCall::Txn(..) => "transaction",
    };
    let StoreExchange { client, node, asked, answered, .. } = record;
    format!("{kind} of client {client} on node {node} from {asked:?} to {answered:?}")
}

fn name(key: &Bytes) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::{Batch, State};
    use std::sync::Arc;

    fn put(key: &'static str, value: &'static str) -> Txn {
        let operations = vec![Operation::Put { key: key.into(), value: value.into() }];
        Txn { conditions: vec![], operations, ..Txn::default() }
    }

    /// The batches of these transactions.
    fn batches(txns: &[Txn]) -> Vec<Arc<Batch>> {
        let mut state = State::new();
        txns.iter().filter_map(|txn| state.apply(0, txn).batch).collect()
    }

    fn record(asked: u64, answered: u64, what: StoreCall) -> StoreExchange {
        let (asked, answered) = (Duration::from_millis(asked), Duration::from_millis(answered));
        StoreExchange { client: 1, node: 2, asked, answered, what }
    }

    fn committed_record(asked: u64, answered: u64, txn: Txn, revision: u64) -> StoreExchange {
        let outcome = Outcome::Committed { revision: Revision::new(revision) };
        record(asked, answered, StoreCall::Txn(txn, Decision::Decided(outcome)))
    }

    fn read(asked: u64, batches: &[Arc<Batch>], at: u64) -> StoreExchange {
        let history = History::new(batches).unwrap();
        let found = vec![history.get(b"a", Revision::new(at)).cloned()];
        record(
            asked,
            asked + 1,
            StoreCall::Read { keys: vec!["a".into()], at: Revision::new(at), found },
        )
    }

    fn check_history(batches: &[Arc<Batch>], records: &[StoreExchange], expect: &[&str]) {
        let found = check(&History::new(batches).unwrap(), records);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        assert!(
            found.iter().zip(expect).all(|(found, expect)| found.contains(expect)),
            "{found:?}"
        );
    }

    #[test]
    fn finds_what_is_wrong_and_nothing_else() {
        let txns = [put("a", "1"), put("a", "2"), put("b", "3")];
        let whole = batches(&txns);
        let first = committed_record(0, 10, txns[0].clone(), 1);
        let second = committed_record(20, 30, txns[1].clone(), 2);
        let good = [
            first.clone(),
            second.clone(),
            read(31, &whole, 2),
            read(40, &whole, 3),
            read(5, &whole, 0),
        ];
        check_history(&whole, &good, &[]);
        check_history(&whole[..1], std::slice::from_ref(&second), &["is lost"]);
        check_history(&whole, &[second.clone(), read(31, &whole, 1)], &["2 was shown before"]);
        check_history(&whole, &[read(1, &whole, 2), read(10, &whole, 1)], &["2 was shown before"]);
        check_history(&whole, &[first.clone(), first.clone()], &["two transactions"]);
        check_history(
            &whole,
            &[record(0, 1, StoreCall::Txn(txns[2].clone(), Decision::Refused))],
            &["applied at 3"],
        );
        check_history(
            &whole,
            &[record(0, 1, StoreCall::Txn(txns[2].clone(), Decision::Unknown))],
            &[],
        );
        let torn = Txn {
            operations: [put("b", "3").operations, put("c", "4").operations].concat(),
            conditions: vec![],
            ..Txn::default()
        };
        check_history(
            &whole,
            &[record(0, 1, StoreCall::Txn(torn, Decision::Unknown))],
            &["c was not changed"],
        );
        let exists = Condition::Exists { key: "b".into() };
        let unfounded = Txn { conditions: vec![exists], ..txns[2].clone() };
        check_history(
            &whole,
            &[record(0, 1, StoreCall::Txn(unfounded, Decision::Unknown))],
            &["does not hold"],
        );
        let mut wrong = read(31, &whole, 2);
        if let StoreCall::Read { found, .. } = &mut wrong.what {
            *found = vec![None];
        }
        check_history(&whole, &[wrong], &["did not hold"]);
    }

    #[test]
    fn a_transaction_that_was_applied_twice_is_found() {
        let twice = batches(&[put("a", "1"), put("a", "1")]);
        assert!(History::new(&twice).err().unwrap().contains("applied before, at 1"));
    }
}
