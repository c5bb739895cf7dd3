//! What is applied and not on disk yet: it is served like the rest, and a crash loses it to the log
//! only.

use std::path::Path;

use futures::executor::block_on;
use openraft::storage::RaftStateMachine;
use quorate_raft::state_machine::{Saving, StateMachine, StateMachineOptions};
use quorate_store::Txn;

use super::restart::files_of;
use super::snapshot::{receive, send};
use super::{apply, assert_equal, history, log_id, open, options, put, script, txn_entry};

fn open_saving(directory: &Path, saving: Saving) -> StateMachine {
    StateMachine::open(&StateMachineOptions { saving, ..options(directory) }).unwrap()
}

#[test]
fn what_a_crash_loses_the_log_gives_again() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut expect = open(dirs[0].path());
    apply(&mut expect, script(1..=500));
    let mut machine = open_saving(dirs[1].path(), Saving::Every(7));
    let mut lost = 0;
    while machine.position().progress.log_id < Some(log_id(500)) {
        let applied = machine.position().progress.log_id.map_or(0, |id| id.index);
        let upto = (applied + 40).min(500);
        script(applied + 1..=upto).into_iter().for_each(|entry| apply(&mut machine, [entry]));
        drop(machine);
        machine = open_saving(dirs[1].path(), Saving::Every(7));
        lost += upto - machine.position().progress.log_id.map_or(0, |id| id.index);
        if upto == 500 {
            let applied = machine.position().progress.log_id.map_or(0, |id| id.index);
            apply(&mut machine, script(applied + 1..=500));
        }
    }
    assert!(lost > 20, "only {lost} entries were lost");
    assert_equal(&machine, &expect);
}

#[test]
fn the_thread_saves_everything_before_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open_saving(dir.path(), Saving::Behind);
    for start in (1..=400).step_by(20) {
        apply(&mut machine, script(start..start + 20));
    }
    let (position, expect) = (machine.position().clone(), history(&machine));
    drop(machine);
    let machine = open_saving(dir.path(), Saving::Behind);
    assert_eq!((machine.position(), history(&machine)), (&position, expect));
}

/// However far the checkpoint is that is being made when a member stops.
#[test]
fn checkpoints_are_made_beside_and_given_up_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let often = StateMachineOptions { checkpoint_bytes: 1, ..options(dir.path()) };
    let often = StateMachineOptions { saving: Saving::Behind, ..often };
    let mut made = 0;
    let value = "v".repeat(100 << 10);
    for start in (1..=120).step_by(12) {
        let mut machine = StateMachine::open(&often).unwrap();
        assert_eq!(machine.position().progress.log_id.map_or(0, |id| id.index), start - 1);
        for index in start..start + 12 {
            let txn = Txn {
                conditions: vec![],
                operations: vec![put(&format!("k{index}"), &value)],
                ..Txn::default()
            };
            apply(&mut machine, [txn_entry(index, txn)]);
        }
        let (position, expect) = (machine.position().clone(), history(&machine));
        drop(machine);
        let machine = StateMachine::open(&often).unwrap();
        assert_eq!((machine.position(), history(&machine)), (&position, expect));
        made += files_of(dir.path(), "checkpoint").len();
    }
    println!("{made} checkpoints were found");
    assert!(files_of(dir.path(), "checkpoint").iter().all(|path| path.extension().is_none()));
}

/// More than the serving form keeps in memory, so that readers come to the history.
#[test]
fn the_history_has_what_is_saved_and_what_is_not() {
    let check = |saving| {
        let dir = tempfile::tempdir().unwrap();
        let mut machine = open_saving(dir.path(), saving);
        let value = "v".repeat(512 << 10);
        for index in 1..=100 {
            apply(
                &mut machine,
                [txn_entry(
                    index,
                    Txn {
                        conditions: vec![],
                        operations: vec![put("k", &value)],
                        ..Txn::default()
                    },
                )],
            );
        }
        assert_eq!(history(&machine).len(), 100, "{saving:?}");
    };
    [Saving::Every(1000), Saving::Every(60), Saving::Every(1), Saving::Behind]
        .into_iter()
        .for_each(check);
}

#[test]
fn a_snapshot_has_what_was_not_saved() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut machine = open_saving(dirs[0].path(), Saving::Every(1000));
    apply(&mut machine, script(1..=100));
    let mut target = open_saving(dirs[1].path(), Saving::Every(1000));
    apply(&mut target, script(1..=30));
    let received = receive(&target, send(&mut machine).map(Result::unwrap));
    block_on(target.install_snapshot(&received.meta, received.snapshot)).unwrap();
    assert_equal(&target, &machine);
    for machine in [&mut machine, &mut target] {
        apply(machine, script(101..=120));
    }
    assert_equal(&target, &machine);
    drop(target);
    let target = open(dirs[1].path());
    assert_eq!(
        target.position().progress.log_id,
        Some(log_id(100)),
        "nothing of before the installation was saved over it"
    );
}
