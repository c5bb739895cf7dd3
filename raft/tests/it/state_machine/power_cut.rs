//! The power goes, or a sync fails, at any moment: what is found is an earlier state, with all that
//! was synced, and the log leads on from there to where all other members are.

use std::sync::Arc;

use futures::executor::block_on;
use futures::stream;
use openraft::storage::RaftStateMachine;
use quorate_env::disk::MemoryDisk;
use quorate_raft::state_machine::{Saving, StateMachine, StateMachineOptions};

use super::{apply, assert_equal, options, script, short_retention};

/// Entries of a run.
const LAST: u64 = 200;
/// Entries between two syncs, as before a purge of the log.
const SYNC_EVERY: u64 = 30;

/// Small segments and frequent checkpoints, some groups behind.
fn on(disk: &MemoryDisk) -> StateMachineOptions {
    StateMachineOptions {
        disk: Arc::new(disk.clone()),
        segment_bytes: 30_000,
        checkpoint_bytes: 50_000,
        saving: Saving::Every(3),
        retention: short_retention(),
        ..options("/state".as_ref())
    }
}

/// What is applied when nothing goes wrong.
fn expected() -> StateMachine {
    let mut machine = StateMachine::open(&on(&MemoryDisk::new())).unwrap();
    apply(&mut machine, script(1..=LAST));
    machine
}

fn applied(machine: &StateMachine) -> u64 {
    machine.position().progress.log_id.map_or(0, |entry| entry.index)
}

/// Goes on until something fails. Gives up to which entry the state was synced.
fn run(disk: &MemoryDisk) -> u64 {
    let mut synced = 0;
    let Ok(mut machine) = StateMachine::open(&on(disk)) else {
        return synced;
    };
    for entry in script(applied(&machine) + 1..=LAST) {
        let index = entry.log_id.index;
        if block_on(machine.apply(stream::iter([Ok((entry, None))]))).is_err() {
            return synced;
        }
        if index.is_multiple_of(SYNC_EVERY) {
            match block_on(machine.get_current_snapshot()) {
                Ok(_) => synced = index,
                Err(_) => return synced,
            }
        }
    }
    synced
}

/// Opens what was found, which must have everything up to an entry, and completes it.
fn complete(disk: &MemoryDisk, synced: u64, expect: &StateMachine, when: &str) {
    let mut machine =
        StateMachine::open(&on(disk)).unwrap_or_else(|error| panic!("{when}: {error}"));
    let found = applied(&machine);
    assert!(found >= synced, "{when}: {found} of {synced} synced entries are left");
    script(found + 1..=LAST).into_iter().for_each(|entry| apply(&mut machine, [entry]));
    assert_equal(&machine, expect);
    drop(machine);
    let machine =
        StateMachine::open(&on(disk)).unwrap_or_else(|error| panic!("{when}, later: {error}"));
    let found = applied(&machine);
    assert!(found + 3 > LAST, "{when}, later: {found}");
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_that_was_synced() {
    let expect = expected();
    for calls in 0.. {
        let disk = MemoryDisk::new();
        disk.crash_after(calls);
        let synced = run(&disk);
        if !disk.crashed() {
            assert!(calls > 200, "only {calls} calls");
            return;
        }
        complete(&disk.crash(calls), synced, &expect, &format!("after {calls} calls"));
    }
}

#[test]
fn a_second_power_cut_while_the_first_is_made_good_loses_nothing_either() {
    let expect = expected();
    for seed in 0..24 {
        let disk = MemoryDisk::new();
        disk.crash_after(60 + 7 * seed);
        let synced = run(&disk);
        for calls in 0..12 {
            let found = disk.crash(seed);
            found.crash_after(calls);
            let again = run(&found).max(synced);
            complete(
                &found.crash(calls),
                again,
                &expect,
                &format!("seed {seed}, after {calls} calls"),
            );
        }
    }
}

/// What a failed sync has left in the cache alone is shown by the next start, which makes it
/// durable first.
#[test]
fn a_failed_sync_loses_nothing_that_a_start_has_shown() {
    let expect = expected();
    for syncs in 0..40 {
        let disk = MemoryDisk::new();
        disk.fail_sync_after(syncs);
        run(&disk);
        let Ok(machine) = StateMachine::open(&on(&disk)) else { panic!("after {syncs} syncs") };
        let shown = applied(&machine);
        drop(machine);
        complete(&disk.crash(syncs), shown, &expect, &format!("after {syncs} syncs"));
    }
}
