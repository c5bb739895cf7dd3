//! Snapshots: what arrives is what was sent, whatever happens to the sender meanwhile; an install
//! is atomic.

use bytes::Bytes;
use futures::executor::block_on;
use openraft::RaftSnapshotBuilder;
use openraft::storage::RaftStateMachine;
use quorate_raft::state_machine::{Frames, MAX_FRAME_BYTES, Snapshot, StateMachine};
use quorate_store::{HistoryError, Revision, Txn};

use super::{apply, assert_equal, history, open, options, put, script, short_retention, txn_entry};

pub(super) fn send(machine: &mut StateMachine) -> Frames {
    let snapshot = block_on(machine.get_current_snapshot()).unwrap().unwrap();
    snapshot.snapshot.outgoing().unwrap().frames()
}

pub(super) fn receive(machine: &StateMachine, frames: impl IntoIterator<Item = Bytes>) -> Snapshot {
    let mut incoming = machine.receiver().begin();
    frames.into_iter().for_each(|frame| incoming.push(&frame).unwrap());
    incoming.finish().unwrap()
}

fn transfer(from: &mut StateMachine, to: &mut StateMachine) {
    let received = receive(to, send(from).map(Result::unwrap));
    block_on(to.install_snapshot(&received.meta, received.snapshot)).unwrap();
}

#[test]
fn a_member_by_snapshot_equals_a_member_by_log() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [mut sender, mut receiver] = [0, 1].map(|i| {
        let mut options = options(dirs[i].path());
        options.retention = short_retention();
        StateMachine::open(&options).unwrap()
    });
    apply(&mut sender, script(1..=400));
    apply(&mut receiver, script(1..=30));
    transfer(&mut sender, &mut receiver);
    assert_equal(&sender, &receiver);

    apply(&mut sender, script(401..=600));
    apply(&mut receiver, script(401..=600));
    assert_equal(&sender, &receiver);

    drop(receiver);
    let mut options = options(dirs[1].path());
    options.retention = short_retention();
    assert_equal(&sender, &StateMachine::open(&options).unwrap());
}

#[test]
fn a_snapshot_shows_the_moment_it_was_built() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [mut sender, mut receiver, mut expect] = [0, 1, 2].map(|i| open(dirs[i].path()));
    apply(&mut sender, script(1..=100));
    let mut builder = block_on(sender.get_snapshot_builder());
    apply(&mut sender, script(101..=200));
    let snapshot = block_on(builder.build_snapshot()).unwrap();
    let mut frames = snapshot.snapshot.outgoing().unwrap().frames();
    let first = frames.next().unwrap().unwrap();
    apply(&mut sender, script(201..=300));
    let received = receive(&receiver, std::iter::once(first).chain(frames.map(Result::unwrap)));
    assert_eq!(received.meta, snapshot.meta);
    block_on(receiver.install_snapshot(&received.meta, received.snapshot)).unwrap();
    apply(&mut expect, script(1..=100));
    assert_equal(&receiver, &expect);
}

#[test]
fn a_sender_that_installs_another_snapshot_meanwhile_finishes_the_one_it_sends() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [mut sender, mut receiver, mut leader] = [0, 1, 2].map(|i| open(dirs[i].path()));
    apply(&mut sender, script(1..=100));
    apply(&mut leader, script(1..=200));
    let expect = history(&sender);
    let frames = send(&mut sender);
    transfer(&mut leader, &mut sender);
    let received = receive(&receiver, frames.map(Result::unwrap));
    block_on(receiver.install_snapshot(&received.meta, received.snapshot)).unwrap();
    assert_eq!(history(&receiver), expect);
    assert_equal(&sender, &leader);
}

#[test]
fn a_watch_goes_on_over_an_install_and_an_old_one_learns_that_it_is_compacted() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut bounded = options(dirs[0].path());
    bounded.retention = short_retention();
    let mut sender = StateMachine::open(&bounded).unwrap();
    let mut receiver = open(dirs[1].path());
    apply(&mut sender, script(1..=400));
    apply(&mut receiver, script(1..=20));
    let mut behind = receiver.serving().watch(Bytes::new(), Revision::new(3)).unwrap();
    let mut covered = receiver.serving().watch(Bytes::new(), sender.serving().oldest()).unwrap();
    transfer(&mut sender, &mut receiver);
    let oldest = sender.serving().oldest();
    assert_eq!(behind.try_next().unwrap_err(), HistoryError::Compacted { oldest });
    let next = covered.try_next().unwrap().unwrap();
    assert_eq!(next.revision(), oldest.next());
}

#[test]
fn records_larger_than_a_frame_arrive() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [mut sender, mut receiver] = [0, 1].map(|i| open(dirs[i].path()));
    let large = "x".repeat(3 * MAX_FRAME_BYTES / 2);
    for index in 1..=4 {
        let txn = Txn {
            conditions: vec![],
            operations: vec![put(&format!("k{}", index % 2), &large)],
            ..Txn::default()
        };
        apply(&mut sender, [txn_entry(index, txn)]);
    }
    let frames: Vec<_> = send(&mut sender).map(Result::unwrap).collect();
    assert!(frames.iter().all(|frame| frame.len() <= MAX_FRAME_BYTES));
    assert!(frames.len() > 8, "{}", frames.len());
    let received = receive(&receiver, frames);
    block_on(receiver.install_snapshot(&received.meta, received.snapshot)).unwrap();
    assert_equal(&sender, &receiver);
}

#[test]
fn an_empty_state_has_no_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    assert!(block_on(machine.get_current_snapshot()).unwrap().is_none());
}
