//! Restarts: after a clean close, after a kill at any moment, with the wrong identity, with damaged files.

use std::path::Path;

use bytes::Bytes;
use quorate_raft::ClusterId;
use quorate_raft::state_machine::StateMachine;

use super::{apply, assert_equal, history, identity, open, options, refusal, script, short_retention};

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

/// What a kill leaves is what the files hold at some moment between two writes: copies of the folder, taken while the
/// database is open, stand for it.
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

/// A journal cut anywhere gives an earlier state, never a mixture: the log's later entries lead to the same end.
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
        holed[start..start + 40].fill(0);
        std::fs::write(journal_of(copy.path()), &holed).unwrap();
        let mut machine_with_hole = open(copy.path());
        let applied = machine_with_hole.position().progress.log_id.map_or(0, |id| id.index);
        assert!(applied < 60, "the hole at {start} lost nothing");
        apply(&mut machine_with_hole, script(applied + 1..=60));
        assert_equal(&machine_with_hole, &machine);
    }
}

#[test]
fn a_damaged_number_of_a_batch_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=50));
    drop(machine);
    let journal = journal_of(dir.path());
    let mut bytes = std::fs::read(&journal).unwrap();
    // The highest byte of the first batch's number, behind a tag and a count.
    bytes[12] ^= 0xff;
    std::fs::write(&journal, bytes).unwrap();
    let line = refusal(&options(dir.path()));
    assert!(
        line.contains("is corrupt") && line.contains("a batch of its journal has number 18374686479671623"),
        "{line}"
    );
}

#[test]
fn a_kill_while_the_database_is_made_is_made_good() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["0.jnl", "lock", "version"] {
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
    assert!(line.contains(&format!("belongs to cluster {}, not to {}", identity().cluster, other.identity.cluster)));
    let mut other = options(dir.path());
    other.identity.naming = "kubernetes".to_owned();
    let line = refusal(&other);
    assert!(line.ends_with("was made with --naming svc, not kubernetes"), "{line}");
    assert!(!line.contains('\n'));
    drop(open(dir.path()));
}

#[test]
fn a_database_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _machine = open(dir.path());
    assert!(refusal(&options(dir.path())).ends_with("is in use by another process"));
}

/// Changes one record behind the state machine's back and expects the start to name it.
fn check_damage(damage: impl FnOnce(&fjall::Database), expect: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    apply(&mut machine, script(1..=50));
    drop(machine);
    let database = fjall::Database::builder(dir.path()).open().unwrap();
    damage(&database);
    drop(database);
    let line = refusal(&options(dir.path()));
    assert!(line.contains("is corrupt") && line.contains(expect), "{line}");
}

fn keyspace(database: &fjall::Database, name: &str) -> fjall::Keyspace {
    database.keyspace(name, fjall::KeyspaceCreateOptions::default).unwrap()
}

#[test]
fn damage_is_named() {
    let first = |keyspace: &fjall::Keyspace| keyspace.first_key_value().unwrap().into_inner().unwrap();
    check_damage(
        |database| {
            let objects = keyspace(database, "objects-1");
            let (key, _) = first(&objects);
            objects.remove(key).unwrap();
        },
        "objects at revision",
    );
    check_damage(
        |database| {
            let objects = keyspace(database, "objects-1");
            let (key, value) = first(&objects);
            let mut value = value.to_vec();
            *value.last_mut().unwrap() ^= 1;
            objects.insert(key, value).unwrap();
        },
        "checksum:",
    );
    check_damage(
        |database| keyspace(database, "history-1").remove(7u64.to_be_bytes()).unwrap(),
        "history: revision 7 is missing",
    );
    check_damage(
        |database| keyspace(database, "history-1").remove(1u64.to_be_bytes()).unwrap(),
        "history: revision 1 is missing",
    );
    check_damage(|database| keyspace(database, "index-1").remove(1u64.to_be_bytes()).unwrap(), "history:");
    check_damage(|database| keyspace(database, "meta").remove("naming").unwrap(), "Naming is missing");
    check_damage(|database| drop(keyspace(database, "stranger")), "\"stranger\" is not one of ours");
}

#[test]
fn another_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let database = fjall::Database::builder(dir.path()).open().unwrap();
    keyspace(&database, "meta").insert("format", 99u32.to_le_bytes()).unwrap();
    drop(database);
    let line = refusal(&options(dir.path()));
    assert!(line.ends_with("has format 99; this program reads format 2"), "{line}");
}

#[test]
fn without_threads_it_works_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut single = options(dir.path());
    single.worker_threads = 0;
    let mut machine = StateMachine::open(&single).unwrap();
    apply(&mut machine, script(1..=200));
    let expect = history(&machine);
    drop(machine);
    let machine = StateMachine::open(&single).unwrap();
    assert_eq!(history(&machine), expect);
    assert!(machine.serving().watch(Bytes::new(), machine.serving().oldest()).is_ok());
}

pub(super) fn journal_of(directory: &Path) -> std::path::PathBuf {
    let mut journals: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    journals.sort();
    journals.pop().unwrap()
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
