//! Reclaimed disk space: that of dropped history comes back, and a reader of it is not disturbed.

use std::ops::RangeInclusive;
use std::path::Path;

use bytes::Bytes;
use futures::executor::block_on;
use openraft::storage::RaftStateMachine;
use quorate_raft::state_machine::StateMachine;
use quorate_store::{HistoryError, Retention, Revision, Txn};

use super::snapshot::{receive, send};
use super::{Saving, apply, assert_equal, open, options, put, txn_entry};

/// History that each large entry adds: the value and the one it replaces.
const BYTES_EACH: u64 = 512 << 10;
const LIMIT: u64 = 32 << 20;

#[test]
fn dropped_history_gives_its_disk_space_back_and_open_snapshots_stay_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.retention = Retention { time_ms: u64::MAX, bytes: 2 * BYTES_EACH };
    options.segment_bytes = 4 << 20;
    options.checkpoint_bytes = 4 << 20;
    let mut machine = StateMachine::open(&options).unwrap();
    let mut written = 0;
    let mut index = 0;
    while written < 2 * LIMIT || kept(dir.path()) > LIMIT {
        assert!(written < 10 * LIMIT, "{} bytes are left", kept(dir.path()));
        index += 1;
        apply(&mut machine, [large(index)]);
        written += BYTES_EACH;
    }

    let expect_dir = tempfile::tempdir().unwrap();
    let mut expect = open(expect_dir.path());
    let received = receive(&expect, send(&mut machine).map(Result::unwrap));
    block_on(expect.install_snapshot(&received.meta, received.snapshot)).unwrap();
    assert_equal(&machine, &expect);
    let mut frames = send(&mut machine);
    let first = frames.next().unwrap().unwrap();
    let last = index + 3 * LIMIT / BYTES_EACH;
    (index + 1..=last).for_each(|index| apply(&mut machine, [large(index)]));
    let target_dir = tempfile::tempdir().unwrap();
    let mut target = open(target_dir.path());
    let received = receive(&target, std::iter::once(first).chain(frames.map(Result::unwrap)));
    block_on(target.install_snapshot(&received.meta, received.snapshot)).unwrap();
    assert_equal(&target, &expect);

    let position = machine.position().clone();
    drop(machine);
    assert_eq!(*StateMachine::open(&options).unwrap().position(), position);
}

fn large(index: u64) -> quorate_raft::types::LogEntry {
    let value = "z".repeat(usize::try_from(BYTES_EACH / 2).unwrap());
    txn_entry(
        index,
        Txn { conditions: vec![], operations: vec![put("one", &value)], ..Txn::default() },
    )
}

/// Bytes of all files in a folder.
fn kept(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    files.map(|file| std::fs::metadata(file.unwrap().path()).map_or(0, |file| file.len())).sum()
}

#[test]
fn what_is_on_its_way_to_a_new_journal_is_held_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.retention = Retention { time_ms: u64::MAX, bytes: 2 * BYTES_EACH };
    options.saving = Saving::Every(usize::MAX);
    options.serving.ring_bytes = 1;
    let mut machine = StateMachine::open(&options).unwrap();
    let serving = machine.serving();
    serving.hold(Revision::ZERO);
    (1..=5).for_each(|index| apply(&mut machine, [large(index)]));
    assert_eq!((serving.oldest().get(), serving.kept().get()), (4, 0));
    assert_eq!(serving.changes(Revision::ZERO, usize::MAX).unwrap().len(), 5);
}

#[test]
fn history_is_held_for_an_archive_within_a_limit() {
    let check = |held_bytes: u64, archived: u64, expect: RangeInclusive<u64>| {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path());
        options.retention = Retention { time_ms: u64::MAX, bytes: 2 * BYTES_EACH };
        (options.segment_bytes, options.checkpoint_bytes) = (1 << 20, 1 << 20);
        options.held_bytes = held_bytes;
        options.serving.ring_bytes = 1;
        let mut machine = StateMachine::open(&options).unwrap();
        let serving = machine.serving();
        serving.hold(Revision::new(archived));
        (1..=40).for_each(|index| apply(&mut machine, [large(index)]));
        let (oldest, kept) = (serving.oldest(), serving.kept());
        assert_eq!(oldest.get(), 39);
        assert!(expect.contains(&kept.get()), "{kept} with {held_bytes} after {archived}");
        let batches = serving.changes(kept, usize::MAX).unwrap();
        assert_eq!(batches[0].revision, kept.next());
        if kept > Revision::ZERO {
            let before = Revision::new(kept.get() - 1);
            let error = HistoryError::Compacted { oldest: kept };
            assert_eq!(serving.changes(before, 1).err(), Some(error));
            assert_eq!(
                serving.watch(Bytes::new(), kept).err(),
                HistoryError::Compacted { oldest }.into()
            );
        }
        // A start keeps what it finds until the archive says how far it is.
        drop((serving, machine));
        let mut machine = StateMachine::open(&options).unwrap();
        let serving = machine.serving();
        assert_eq!((serving.oldest(), serving.kept()), (oldest, kept));
        serving.hold(Revision::MAX);
        (41..=60).for_each(|index| apply(&mut machine, [large(index)]));
        assert!(serving.kept().get() >= 50, "{}", serving.kept());
    };
    check(u64::MAX, 7, 1..=7);
    check(u64::MAX, 0, 0..=0);
    check(10 * BYTES_EACH, 0, 16..=22);
    check(0, 0, 34..=39);
    check(u64::MAX, u64::MAX, 34..=39);
}
