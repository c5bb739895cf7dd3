//! Restarts: after a clean close, after a kill at any moment, with the wrong identity, with damaged
//! files.

use std::path::{Path, PathBuf};

use futures::executor::block_on;
use openraft::storage::RaftStateMachine;
use quorate_raft::ClusterId;
use quorate_raft::state_machine::{StateMachine, StateMachineOptions};
use quorate_store::Retention;

use super::{
    apply, assert_equal, history, identity, open, options, refusal, script, short_retention,
};

#[test]
fn a_restart_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let reference = tempfile::tempdir().unwrap();
    let mut expect = open(reference.path());
    apply(&mut expect, script(1..=500));
    let mut machine = open(dir.path());
    for start in (1..=500).step_by(50) {
        apply(&mut machine, script(start..start + 50));
        drop(machine);
        machine = open(dir.path());
    }
    assert_equal(&machine, &expect);
}

#[test]
fn a_watch_goes_on_after_a_restart_from_disk_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=300));
    let expect = history(&machine);
    drop(machine);
    let mut cold = options(dir.path());
    cold.warm_bytes = 0;
    let machine = StateMachine::open(&cold).unwrap();
    assert_eq!(history(&machine), expect);
    assert!(expect.len() > 200, "{}", expect.len());
}

#[test]
fn retention_goes_on_after_a_restart_as_if_there_had_been_none() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [straight, restarted] = [0, 1].map(|i| {
        let mut options = options(dirs[i].path());
        options.retention = short_retention();
        options
    });
    let mut expect = StateMachine::open(&straight).unwrap();
    apply(&mut expect, script(1..=300));
    let mut machine = StateMachine::open(&restarted).unwrap();
    apply(&mut machine, script(1..=150));
    drop(machine);
    let mut machine = StateMachine::open(&restarted).unwrap();
    apply(&mut machine, script(151..=300));
    assert_equal(&machine, &expect);
}

/// What a kill leaves is what the files hold at some moment between two writes: copies of the
/// folder, taken while the state is open, stand for it.
#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_applied() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    let mut copies = vec![];
    for index in 1..=60 {
        apply(&mut machine, script([index]));
        if index % 6 == 0 {
            let copy = tempfile::tempdir().unwrap();
            copy_folder(dir.path(), copy.path());
            copies.push((index, copy));
        }
    }
    for (index, copy) in copies {
        let reference = tempfile::tempdir().unwrap();
        let mut expect = open(reference.path());
        apply(&mut expect, script(1..=index));
        let mut killed = open(copy.path());
        assert_equal(&killed, &expect);
        apply(&mut killed, script(index + 1..=80));
        apply(&mut expect, script(index + 1..=80));
        assert_equal(&killed, &expect);
    }
}

/// A journal cut anywhere gives an earlier state, never a mixture: the log's later entries lead to
/// the same end.
#[test]
fn a_torn_journal_gives_an_earlier_state_that_the_log_completes() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    script(1..=40).into_iter().for_each(|entry| apply(&mut machine, [entry]));
    let journal = std::fs::read(journal_of(dir.path())).unwrap();
    let used = journal.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut earlier = 0;
    for cut in [1, 2, 17, 100, 300, 1000, used / 2] {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(dir.path(), copy.path());
        std::fs::write(journal_of(copy.path()), &journal[..used - cut]).unwrap();
        let mut torn = open(copy.path());
        let applied = torn.position().progress.log_id.map_or(0, |id| id.index);
        earlier += u64::from(applied < 40);
        apply(&mut torn, script(applied + 1..=40));
        assert_equal(&torn, &machine);
    }
    assert!(earlier >= 5, "only {earlier} cuts lost anything");
}

/// A power cut may keep later pages of what was not synced and lose earlier ones.
#[test]
fn holes_in_the_journal_give_an_earlier_state_that_the_log_completes() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    script(1..=60).into_iter().for_each(|entry| apply(&mut machine, [entry]));
    let journal = std::fs::read(journal_of(dir.path())).unwrap();
    let used = journal.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for part in 4..12 {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(dir.path(), copy.path());
        let mut holed = journal.clone();
        let start = used * part / 12;
        holed[start..start + 4096].fill(0);
        std::fs::write(journal_of(copy.path()), &holed).unwrap();
        let mut machine_with_hole = open(copy.path());
        let applied = machine_with_hole.position().progress.log_id.map_or(0, |id| id.index);
        assert!(applied < 60, "the hole at {start} lost nothing");
        apply(&mut machine_with_hole, script(applied + 1..=60));
        assert_equal(&machine_with_hole, &machine);
    }
}

/// A power cut may keep a later segment and lose the end of the one before.
#[test]
fn a_hole_in_an_earlier_segment_gives_an_earlier_state_that_the_log_completes() {
    let dir = tempfile::tempdir().unwrap();
    let small = StateMachineOptions { segment_bytes: 20_000, ..options(dir.path()) };
    let mut machine = StateMachine::open(&small).unwrap();
    script(1..=60).into_iter().for_each(|entry| apply(&mut machine, [entry]));
    let segments = files_of(dir.path(), "journal");
    assert!(segments.len() > 5, "{}", segments.len());
    let copy = tempfile::tempdir().unwrap();
    copy_folder(dir.path(), copy.path());
    let holed = copy.path().join(segments[3].file_name().unwrap());
    let mut bytes = std::fs::read(&holed).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0);
    std::fs::write(&holed, bytes).unwrap();
    let small = StateMachineOptions { directory: copy.path().into(), ..small };
    let mut earlier = StateMachine::open(&small).unwrap();
    let applied = earlier.position().progress.log_id.map_or(0, |id| id.index);
    assert!((5..60).contains(&applied), "{applied}");
    assert_eq!(files_of(copy.path(), "journal").len(), 4, "what came after is gone");
    apply(&mut earlier, script(applied + 1..=60));
    assert_equal(&earlier, &machine);
    drop(earlier);
    assert_equal(&StateMachine::open(&small).unwrap(), &machine);
}

#[test]
fn a_kill_while_the_folder_is_made_is_made_good() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["lock", "owner.tmp"] {
        std::fs::write(dir.path().join(file), b"").unwrap();
    }
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=5));
}

#[test]
fn the_data_of_another_cluster_or_naming_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let mut other = options(dir.path());
    other.identity.cluster = ClusterId::new([8; 16]);
    let line = refusal(&other);
    assert!(line.contains(&format!(
        "belongs to cluster {}, not to {}",
        identity().cluster,
        other.identity.cluster
    )));
    let mut other = options(dir.path());
    other.identity.naming = "kubernetes".to_owned();
    let line = refusal(&other);
    assert!(line.ends_with("was made with --naming svc, not kubernetes"), "{line}");
    assert!(!line.contains('\n'));
    drop(open(dir.path()));
}

#[test]
fn a_folder_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _machine = open(dir.path());
    assert!(refusal(&options(dir.path())).ends_with("is in use by another process"));
}

/// Changes a file behind the state machine's back and expects the start to say what is wrong.
fn check_damage(retention: Retention, damage: impl FnOnce(&Path), expect: &str) {
    let dir = tempfile::tempdir().unwrap();
    let small = StateMachineOptions {
        segment_bytes: 20_000,
        checkpoint_bytes: 100_000,
        retention,
        ..options(dir.path())
    };
    let mut machine = StateMachine::open(&small).unwrap();
    script(1..=150).into_iter().for_each(|entry| apply(&mut machine, [entry]));
    drop(block_on(machine.get_current_snapshot()).unwrap());
    drop(machine);
    damage(dir.path());
    let line = refusal(&small);
    assert!(line.contains("is corrupt") && line.contains(expect), "{line}");
}

#[test]
fn damage_is_named() {
    let newest = |folder: &Path, kind| files_of(folder, kind).pop().unwrap();
    let flip = |path: &Path, at: usize| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[at] ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    let check = |damage: &dyn Fn(&Path), expect| check_damage(Retention::default(), damage, expect);
    check(&|folder| flip(&newest(folder, "checkpoint"), 200), "its checksum is wrong");
    check(&|folder| std::fs::write(newest(folder, "checkpoint"), b"").unwrap(), "it ends early");
    check(
        &|folder| std::fs::remove_file(newest(folder, "journal")).unwrap(),
        "its journal ends with frame",
    );
    check(&|folder| flip(&newest(folder, "journal"), 9), "its journal ends with frame");
    check(
        &|folder| std::fs::remove_file(&files_of(folder, "journal")[0]).unwrap(),
        "history: revision 1 is missing",
    );
    check(&|folder| flip(&folder.join("owner"), 20), "the note \"owner\" is damaged");
    check(
        &|folder| std::fs::remove_file(folder.join("owner")).unwrap(),
        "nothing says whose it is",
    );
    let remove =
        |paths: Vec<PathBuf>| paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    check(&|folder| remove(files_of(folder, "journal")), "history: revision 1 is missing");
    let check = |damage: &dyn Fn(&Path), expect| check_damage(short_retention(), damage, expect);
    check(&|folder| remove(files_of(folder, "checkpoint")), "its journal begins with frame");
}

#[test]
fn another_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("version"), b"FJL").unwrap();
    let line = refusal(&options(dir.path()));
    assert!(line.ends_with("has format 2; this program reads format 4"), "{line}");
}

#[test]
fn a_start_needs_no_more_of_the_journal_than_comes_after_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let reference = tempfile::tempdir().unwrap();
    let retention = short_retention();
    let small = StateMachineOptions {
        segment_bytes: 20_000,
        checkpoint_bytes: 50_000,
        retention,
        ..options(dir.path())
    };
    let mut expect =
        StateMachine::open(&StateMachineOptions { retention, ..options(reference.path()) })
            .unwrap();
    let mut machine = StateMachine::open(&small).unwrap();
    for start in (1..=400).step_by(20) {
        for machine in [&mut machine, &mut expect] {
            script(start..start + 20).into_iter().for_each(|entry| apply(machine, [entry]));
        }
        drop(machine);
        machine = StateMachine::open(&small).unwrap();
        assert_equal(&machine, &expect);
        assert!(files_of(dir.path(), "checkpoint").len() <= 1);
    }
    let kept = files_of(dir.path(), "journal").len();
    assert!((10..30).contains(&kept), "{kept} segments are left of 100");
}

/// The newest segment of the journal.
pub(super) fn journal_of(directory: &Path) -> PathBuf {
    files_of(directory, "journal").pop().unwrap()
}

/// The files of a kind, in their order.
pub(super) fn files_of(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let is_one = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(kind);
    let mut paths: Vec<_> = paths.filter(is_one).collect();
    paths.sort();
    paths
}

pub(super) fn copy_folder(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_folder(&file.path(), &target);
        } else {
            std::fs::copy(file.path(), target).unwrap();
        }
    }
}
