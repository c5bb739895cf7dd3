//! The synced file: what was synced and is gone again is damage; what was not synced may be lost,
//! once, and with the numbers that it had.

use std::path::Path;

use futures::executor::block_on;
use openraft::storage::RaftStateMachine;

use super::restart::{copy_folder, journal_of};
use super::{apply, assert_equal, open, options, refusal, script};

/// Bytes of the newest journal that are in use.
fn used(directory: &Path) -> usize {
    let journal = std::fs::read(journal_of(directory)).unwrap();
    journal.iter().rposition(|byte| *byte != 0).unwrap() + 1
}

/// A copy of the folder whose newest journal has a hole of a block at this place.
fn holed(directory: &Path, at: usize) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(directory, copy.path());
    let path = journal_of(copy.path());
    let mut journal = std::fs::read(&path).unwrap();
    let end = journal.len().min(at + 4096);
    journal[at..end].fill(0);
    std::fs::write(path, journal).unwrap();
    copy
}

#[test]
fn a_hole_is_torn_behind_the_last_sync_and_damage_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=30));
    // Syncs, as before every purge of the log.
    drop(block_on(machine.get_current_snapshot()).unwrap());
    let synced = used(dir.path());
    script(31..=60).into_iter().for_each(|entry| apply(&mut machine, [entry]));
    let end = used(dir.path());

    for part in [1, 4, 7] {
        let damaged = holed(dir.path(), synced * part / 8);
        for _ in 0..2 {
            let line = refusal(&options(damaged.path()));
            assert!(line.contains("is corrupt: it ends before entry"), "{line}");
            assert!(line.ends_with("but entries up to 30 had been synced"), "{line}");
        }
    }
    for part in [1, 3, 6] {
        let torn = holed(dir.path(), synced + (end - synced) * part / 8);
        let mut machine_again = open(torn.path());
        let applied = machine_again.position().progress.log_id.map_or(0, |id| id.index);
        assert!((30..60).contains(&applied), "{applied}");
        apply(&mut machine_again, script(applied + 1..=60));
        assert_equal(&machine_again, &machine);
    }
}

#[test]
fn what_a_start_has_shown_is_durable() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=30));
    drop(machine);
    drop(open(dir.path()));
    let line = refusal(&options(holed(dir.path(), used(dir.path()) / 2).path()));
    assert!(line.ends_with("but entries up to 30 had been synced"), "{line}");
}

#[test]
fn a_damaged_note_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=5));
    drop(block_on(machine.get_current_snapshot()).unwrap());
    drop(machine);
    std::fs::write(dir.path().join("synced"), b"nonsense").unwrap();
    let line = refusal(&options(dir.path()));
    assert!(line.ends_with("is corrupt: the note \"synced\" is damaged"), "{line}");
}
