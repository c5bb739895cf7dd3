//! Transfers that go wrong at every frame: the old state keeps serving and nothing is left behind.

use std::sync::Arc;

use bytes::Bytes;
use quorate_env::disk::MemoryDisk;
use quorate_raft::ClusterId;
use quorate_raft::state_machine::{
    MAX_FRAME_BYTES, SnapshotError, StateMachine, StateMachineOptions,
};
use quorate_store::Txn;

use super::restart::{copy_folder, files_of};
use super::snapshot::{receive, send};
use super::{apply, assert_equal, open, options, put, script, txn_entry};

/// A sender whose snapshot has several frames of each kind.
fn sender() -> (tempfile::TempDir, StateMachine) {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=50));
    let large = "y".repeat(MAX_FRAME_BYTES / 2);
    for index in 51..=56 {
        let txn = Txn {
            conditions: vec![],
            operations: vec![put(&format!("large{index}"), &large)],
            ..Txn::default()
        };
        apply(&mut machine, [txn_entry(index, txn)]);
    }
    (dir, machine)
}

/// Pushes frames, and finishes, expecting a refusal somewhere.
fn check(machine: &StateMachine, frames: impl IntoIterator<Item = Bytes>, expect: &str) {
    let mut incoming = machine.receiver().begin();
    let pushed = frames.into_iter().try_for_each(|frame| incoming.push(&frame));
    let error = match pushed {
        Ok(()) => incoming.finish().map(|_| ()).unwrap_err(),
        Err(error) => {
            assert!(matches!(incoming.push(b""), Err(SnapshotError::Refused)));
            error
        }
    };
    assert!(error.to_string().contains(expect), "{error}");
}

#[test]
fn a_stream_that_is_not_whole_is_refused() {
    let (_dir, mut sender) = sender();
    let frames: Vec<Bytes> = send(&mut sender).map(Result::unwrap).collect();
    let count = frames.len();
    assert!(count >= 8, "{count}");
    let dir = tempfile::tempdir().unwrap();
    let mut receiver = open(dir.path());
    apply(&mut receiver, script(1..=20));
    let reference = tempfile::tempdir().unwrap();
    let mut expect = open(reference.path());
    apply(&mut expect, script(1..=20));

    for at in [0, 1, count / 2, count - 2, count - 1] {
        check(&receiver, frames[..at].to_vec(), "ends early");
        let mut damaged = frames.clone();
        let mut bytes = damaged[at].to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        damaged[at] = bytes.into();
        check(&receiver, damaged, "its checksum is wrong");
        let mut missing = frames.clone();
        missing.remove(at);
        check(&receiver, missing, if at + 1 == count { "ends early" } else { "was expected" });
        let mut repeated = frames.clone();
        repeated.insert(at, frames[at].clone());
        check(&receiver, repeated, "was expected");
        if at + 1 < count {
            let mut swapped = frames.clone();
            swapped.swap(at, at + 1);
            check(&receiver, swapped, "was expected");
        }
    }
    assert_equal(&receiver, &expect);
    drop(receiver);
    assert_equal(&open(dir.path()), &expect);
    assert_eq!(generations(dir.path()), [FIRST]);
}

#[test]
fn a_snapshot_of_another_cluster_or_naming_is_refused() {
    let (_dir, mut sender) = sender();
    let dir = tempfile::tempdir().unwrap();
    let mut other = options(dir.path());
    other.identity.cluster = ClusterId::new([1; 16]);
    check(
        &StateMachine::open(&other).unwrap(),
        send(&mut sender).map(Result::unwrap),
        "the snapshot is of cluster 07",
    );
    let dir = tempfile::tempdir().unwrap();
    let mut other = options(dir.path());
    other.identity.naming = "kubernetes".to_owned();
    check(
        &StateMachine::open(&other).unwrap(),
        send(&mut sender).map(Result::unwrap),
        "--naming svc, not kubernetes",
    );
}

#[test]
fn a_kill_during_a_transfer_leaves_the_old_state_and_the_start_removes_the_rest() {
    let (_dir, mut sender) = sender();
    let frames: Vec<Bytes> = send(&mut sender).map(Result::unwrap).collect();
    let dir = tempfile::tempdir().unwrap();
    let mut receiver = open(dir.path());
    apply(&mut receiver, script(1..=20));
    let copy = tempfile::tempdir().unwrap();
    let mut incoming = receiver.receiver().begin();
    frames[..5].iter().for_each(|frame| incoming.push(frame).unwrap());
    copy_folder(dir.path(), copy.path());
    let killed = open(copy.path());
    assert_equal(&killed, &receiver);
    drop(killed);
    assert_eq!(generations(copy.path()), [FIRST]);
}

#[test]
fn a_kill_between_receiving_and_installing_leaves_the_old_state() {
    let (_dir, mut sender) = sender();
    let dir = tempfile::tempdir().unwrap();
    let mut receiver = open(dir.path());
    apply(&mut receiver, script(1..=20));
    let received = receive(&receiver, send(&mut sender).map(Result::unwrap));
    let copy = tempfile::tempdir().unwrap();
    copy_folder(dir.path(), copy.path());
    assert_equal(&open(copy.path()), &receiver);
    drop(received);
    let again = receive(&receiver, send(&mut sender).map(Result::unwrap));
    futures::executor::block_on(openraft::storage::RaftStateMachine::install_snapshot(
        &mut receiver,
        &again.meta,
        again.snapshot,
    ))
    .unwrap();
    assert_equal(&receiver, &sender);
    let copy = tempfile::tempdir().unwrap();
    copy_folder(dir.path(), copy.path());
    assert_equal(&open(copy.path()), &sender);
}

/// The first generation, as file names have it.
const FIRST: &str = "0000000000000001";

/// The generations that have files.
fn generations(directory: &std::path::Path) -> Vec<String> {
    let generation = |path: &std::path::PathBuf| {
        path.file_name()?.to_str()?.split('-').nth(1).map(str::to_owned)
    };
    let mut names: Vec<_> = ["journal", "checkpoint"]
        .iter()
        .flat_map(|kind| files_of(directory, kind))
        .filter_map(|path| generation(&path))
        .collect();
    names.dedup();
    names
}

#[test]
fn a_transfer_that_the_disk_cannot_take_ends_the_process() {
    let (_dir, mut sender) = sender();
    let disk = MemoryDisk::new();
    let options =
        StateMachineOptions { disk: Arc::new(disk.clone()), ..options("/state".as_ref()) };
    let receiver = StateMachine::open(&options).unwrap();
    disk.set_capacity(Some(disk.used() + (1 << 20)));
    let mut incoming = receiver.receiver().begin();
    let error = send(&mut sender).find_map(|frame| incoming.push(&frame.unwrap()).err()).unwrap();
    assert!(matches!(error, SnapshotError::Io(_)), "{error}");
    let reason = options.fatal.reason().unwrap_or_default();
    assert!(reason.starts_with("cannot go on with the state in "), "{reason}");
}
