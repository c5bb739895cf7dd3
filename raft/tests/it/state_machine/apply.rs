//! Applying: grouping does not matter, history is bounded, old states are exact.

use futures::executor::block_on;
use futures::stream;
use openraft::storage::RaftStateMachine;
use quorate_raft::state_machine::StateMachine;
use quorate_store::{HistoryError, Revision, State};

use super::{apply, assert_equal, log_id, open, options, put, script, short_retention, txn_entry};
use quorate_raft::types::Payload;
use quorate_store::{Retention, Txn};

#[test]
fn however_entries_are_grouped_the_result_is_the_same() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [mut whole, mut single, mut uneven] = [0, 1, 2].map(|i| {
        let mut options = options(dirs[i].path());
        options.retention = short_retention();
        StateMachine::open(&options).unwrap()
    });
    apply(&mut whole, script(1..=400));
    script(1..=400).into_iter().for_each(|entry| apply(&mut single, [entry]));
    for chunk in script(1..=400).chunks(37) {
        apply(&mut uneven, chunk.to_vec());
    }
    assert_equal(&whole, &single);
    assert_equal(&whole, &uneven);
    assert_eq!(whole.position().progress.log_id, Some(log_id(400)));
    assert!(whole.serving().oldest() > Revision::ZERO);
}

#[test]
fn what_is_served_is_what_the_pure_state_says() {
    let dir = tempfile::tempdir().unwrap();
    let mut machine = open(dir.path());
    let mut model = State::new();
    let mut past = vec![model.snapshot()];
    for entry in script(1..=300) {
        if let Payload::Normal(command) = &entry.payload
            && model.apply(command.time_ms, &command.txns[0]).batch.is_some()
        {
            past.push(model.snapshot());
        }
        apply(&mut machine, [entry]);
    }
    let progress = machine.position().progress;
    assert_eq!((progress.size, progress.objects), (model.size(), model.len() as u64));
    assert_eq!(machine.serving().snapshot(), model.snapshot());
    for snapshot in past {
        assert_eq!(machine.serving().snapshot_at(snapshot.revision()), Ok(snapshot));
    }
}

#[test]
fn history_ends_where_the_retention_says() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.retention = Retention { time_ms: u64::MAX, bytes: 10_000 };
    let mut machine = StateMachine::open(&options).unwrap();
    for index in 1..=100 {
        apply(
            &mut machine,
            [txn_entry(
                index,
                Txn { conditions: vec![], operations: vec![put("k", "v")], ..Txn::default() },
            )],
        );
    }
    let oldest = machine.serving().oldest();
    assert!(oldest.get() > 50 && oldest.get() < 90, "{oldest}");
    assert!(machine.serving().snapshot_at(oldest).is_ok());
    let gone = Revision::new(oldest.get() - 1);
    assert_eq!(
        machine.serving().snapshot_at(gone).unwrap_err(),
        HistoryError::Compacted { oldest }
    );
    assert!(machine.serving().watch("".into(), gone).is_err());
}

#[test]
fn an_entry_after_a_gap_or_a_second_time_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path());
    let mut machine = StateMachine::open(&options).unwrap();
    apply(&mut machine, script(1..=10));
    assert_eq!(options.fatal.reason(), None);
    for (index, reason) in [
        (12, "entry 12 cannot be applied after entry 10"),
        (10, "entry 10 cannot be applied after"),
    ] {
        let entries = script([index]).into_iter().map(|entry| Ok((entry, None)));
        let error = block_on(machine.apply(stream::iter(entries))).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    apply(&mut machine, script(11..=12));
    let told = options.fatal.reason().expect("the operator is told");
    let why = "state machine: entry 12 cannot be applied after entry 10";
    assert_eq!(told, format!("cannot go on with the state in {}: {why}", dir.path().display()));
}
