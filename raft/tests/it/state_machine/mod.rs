//! The state machine alone, driven as openraft drives it: applying, restarting, snapshots.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod apply;
mod owner_file;
mod power_cut;
mod reclaim;
mod restart;
mod saving;
mod snapshot;
mod transfer_faults;

use std::path::Path;

use bytes::Bytes;
use futures::executor::block_on;
use futures::stream;
use openraft::storage::RaftStateMachine;
use openraft::vote::RaftLeaderId;
use quorate_raft::ClusterId;
use quorate_raft::state_machine::{
    Saving, StateIdentity, StateMachine, StateMachineOptions, StateOpenError,
};
use quorate_raft::types::{Command, LogEntry, LogId, Payload};
use quorate_store::{Condition, Operation, Retention, Revision, Txn};

/// Milliseconds between two entries made by [`Script`].
const STEP_MS: u64 = 100;

fn identity() -> StateIdentity {
    StateIdentity { cluster: ClusterId::new([7; 16]), naming: "svc".to_owned() }
}

/// Every group is on disk when it is applied.
fn options(directory: &Path) -> StateMachineOptions {
    StateMachineOptions {
        saving: Saving::Every(1),
        ..StateMachineOptions::new(directory, identity())
    }
}

fn open(directory: &Path) -> StateMachine {
    StateMachine::open(&options(directory)).expect("the state opens")
}

fn refusal(options: &StateMachineOptions) -> String {
    let error: StateOpenError = StateMachine::open(options).err().expect("the state is refused");
    error.to_string()
}

/// Applies entries the way openraft hands them over.
fn apply(machine: &mut StateMachine, entries: impl IntoIterator<Item = LogEntry>) {
    let entries: Vec<_> = entries.into_iter().map(|entry| Ok((entry, None))).collect();
    block_on(machine.apply(stream::iter(entries))).expect("the entries are applied");
}

fn entry(index: u64, payload: Payload) -> LogEntry {
    LogEntry { log_id: log_id(index), payload }
}

fn log_id(index: u64) -> LogId {
    LogId { leader_id: RaftLeaderId::new(1, 1), index }
}

fn txn_entry(index: u64, txn: Txn) -> LogEntry {
    entry(index, Payload::Normal(Command { time_ms: index * STEP_MS, txns: [txn].into() }))
}

fn put(key: &str, value: &str) -> Operation {
    Operation::Put {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Bytes::copy_from_slice(value.as_bytes()),
    }
}

fn delete(key: &str) -> Operation {
    Operation::Delete { key: Bytes::copy_from_slice(key.as_bytes()) }
}

/// A fixed sequence of entries with creates, updates, deletes, conflicts, blanks and several
/// operations per transaction.
fn script(indexes: impl IntoIterator<Item = u64>) -> Vec<LogEntry> {
    indexes.into_iter().map(scripted).collect()
}

fn scripted(index: u64) -> LogEntry {
    let key = |n: u64| format!("o/core/configmaps/default/c{}", n % 40);
    let value = |n: u64| format!("{{\"data\":{{\"n\":\"{n}\"}}}}").repeat(1 + (n % 5) as usize);
    let absent = Condition::Modified { key: key(index).into(), revision: Revision::ZERO };
    let (conditions, operations) = match index % 7 {
        0 => return entry(index, Payload::Blank),
        1 => (vec![absent], vec![put(&key(index), &value(index))]),
        2 => (vec![], vec![delete(&key(index * 3))]),
        3 => (
            vec![],
            vec![
                put(&key(index), &value(index)),
                put(&key(index + 1), &value(index)),
                delete(&key(index + 2)),
            ],
        ),
        _ => (vec![], vec![put(&key(index), &value(index))]),
    };
    txn_entry(index, Txn { conditions, operations, ..Txn::default() })
}

fn history(machine: &StateMachine) -> Vec<String> {
    let serving = machine.serving();
    let mut watch =
        serving.watch(Bytes::new(), serving.oldest()).expect("the oldest revision can be watched");
    let mut seen = vec![];
    while let Some(batch) = watch.try_next().expect("the history is readable") {
        seen.push(format!("{:?}", batch.batch()));
    }
    seen
}

/// Two members that have applied the same entries must agree on all of this.
fn assert_equal(one: &StateMachine, other: &StateMachine) {
    assert_eq!(one.position(), other.position());
    assert_eq!(one.serving().snapshot(), other.serving().snapshot());
    assert_eq!(one.serving().oldest(), other.serving().oldest());
    assert_eq!(history(one), history(other));
}

fn short_retention() -> Retention {
    Retention { time_ms: 50 * STEP_MS, bytes: u64::MAX }
}
