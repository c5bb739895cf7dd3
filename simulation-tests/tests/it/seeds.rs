//! Regression seeds: each found a violation once.
//!
//! They pass as long as it does not come back, and they are no proof that it does not: the
//! simulation has changed since, its clients, its faults and the order of its draws, so that a seed
//! no longer plays the story that it played then. What holds each bug exactly is the test that is
//! named beside it, where there is one. What the seeds are is a small soak of runs that were hard
//! once.

use super::{run_exactly, violations};

/// A seed, how it was run, and what it found.
struct Found {
    seed: u64,
    /// Without `--seconds` the seed decides how long it takes, as in a soak; without `--workload`
    /// what it is about.
    options: &'static [&'static str],
    what: &'static str,
    /// The exact regression test.
    test: &'static str,
}

/// What short runs have found, as they were run then.
const SHORT: [Found; 5] = [
    Found {
        seed: 5,
        options: &["--workload", "store", "--lose-quorum", "--seconds", "8"],
        what: "a leader that was removed was asked for a change of the members while it led yet",
        test: "raft/tests/it/membership.rs: a_removed_leader_changes_nothing_while_it_hands_over",
    },
    Found {
        seed: 20,
        options: &["--workload", "store", "--lose-quorum", "--seconds", "10"],
        what: "the quorum was lost while a process that had ended by itself held its folder (the simulation's mistake)",
        test: "none but the seed; see `ended` in simulation-tests/src/lost_quorum.rs",
    },
    Found {
        seed: 60,
        options: &["--seconds", "15"],
        what: "too little history was kept for the objects of a cluster's first second (the simulation's mistake)",
        test: "none but the seed; see LITTLE_API_HISTORY_BYTES in simulation-tests/src/run.rs",
    },
    Found {
        seed: 109,
        options: &["--workload", "definitions", "--seconds", "20"],
        what: "a definition whose storage version is not served could not be deleted, for its objects were found by no resource",
        test: UNSERVED,
    },
    Found {
        seed: 116,
        options: &["--workload", "definitions", "--seconds", "20"],
        what: "an object was created by the schema of a definition that had been deleted and created anew meanwhile",
        test: ANEW,
    },
];

const UNSERVED: &str =
    "api/tests/it/custom_storage.rs: objects_go_though_their_version_is_not_served";
const ANEW: &str =
    "api/tests/it/custom_storage.rs: nothing_is_created_by_a_definition_that_is_gone";
const NOTE: &str = "none any more: the state has no keyspaces now";
const HIDDEN: &str =
    "the tombstones of a removed keyspace hid the keyspaces of the next snapshot after a power cut";
const HALF_DONE: &str =
    "raft/tests/it/membership.rs: a_change_that_its_leader_left_half_done_is_completed";
const JOINT: &str = "a leader's death between the two entries of a change of voters left the joint configuration for good";
const FAR: &str = "raft/tests/it/distance.rs: reads_are_served_when_a_stream_and_a_heartbeat_take_longer_than_a_heartbeat";
const NEVER_FIT: &str = "heartbeats that had to connect first never fit between two, so that a leader was never confirmed";
const NO_RANGE: &str =
    "api/tests/it/services.rs: before_there_is_a_range_no_service_is_created_that_needs_an_address";
const WITHOUT: &str =
    "a Service was stored without an address while there was no range to give it one from";
const NOTHING_YET: &str =
    "raft/tests/it/membership.rs: a_learner_that_has_nothing_yet_does_not_vote";
const PROMOTED: &str =
    "a learner that had not been reached yet counted as caught up, and was promoted with nothing";

/// What longer runs and soaks have found.
const LONG: [Found; 28] = [
    Found {
        seed: 5,
        options: &["--workload", "api", "--seconds", "60"],
        what: "a creation in a namespace that was just being replaced was refused with 409",
        test: "api/src/registry/write/failures.rs: an_object_is_created_in_a_namespace_that_is_replaced_meanwhile",
    },
    Found { seed: 2045, options: &["--seconds", "60"], what: HIDDEN, test: NOTE },
    Found { seed: 2046, options: &["--seconds", "60"], what: HIDDEN, test: NOTE },
    Found { seed: 2049, options: &["--seconds", "60"], what: HIDDEN, test: NOTE },
    Found {
        seed: 7043,
        options: &["--workload", "store", "--seconds", "60"],
        what: "the one voter that the loss of the quorum had meant to spare was out at that moment (the simulation's mistake)",
        test: "simulation-tests/src/lost_quorum.rs: some_voter_that_is_there_is_spared_and_no_quorum",
    },
    Found {
        seed: 7153,
        options: &["--workload", "store", "--seconds", "60"],
        what: "a leader that was removed was asked for a change of the members while it led yet",
        test: "raft/tests/it/membership.rs: a_removed_leader_changes_nothing_while_it_hands_over",
    },
    Found { seed: 20077, options: &[], what: JOINT, test: HALF_DONE },
    Found { seed: 20111, options: &[], what: JOINT, test: HALF_DONE },
    Found { seed: 20096, options: &[], what: NEVER_FIT, test: FAR },
    Found { seed: 20138, options: &[], what: NEVER_FIT, test: FAR },
    Found { seed: 20106, options: &[], what: WITHOUT, test: NO_RANGE },
    Found { seed: 20144, options: &[], what: WITHOUT, test: NO_RANGE },
    Found { seed: 100_275, options: &[], what: PROMOTED, test: NOTHING_YET },
    Found { seed: 100_335, options: &[], what: PROMOTED, test: NOTHING_YET },
    Found {
        seed: 200_079,
        options: &[],
        what: "what only a watcher had seen before the quorum was lost was called wrong (the checker's mistake)",
        test: "simulation-tests/src/checkers/recovery.rs: what_only_watchers_saw_ends_the_first_history",
    },
    Found {
        seed: 400_086,
        options: &[],
        what: "clients were told of revision 0, before the first transaction (the simulation's mistake)",
        test: "none but the seed; see `recovery` in simulation-tests/src/api/serve.rs",
    },
    Found {
        seed: 401_013,
        options: &[],
        what: "a recovered member that had never seen itself added left its own number out of the counter of numbers",
        test: "none but the seed; see `cluster_keys` in raft/src/state_machine/offline.rs",
    },
    Found {
        seed: 401_289,
        options: &[],
        what: "what was acknowledged just before all power went was called lost, with the quorum (the checker's mistake)",
        test: "none but the seed; see simulation-tests/src/checkers/recovery.rs",
    },
    Found {
        seed: 401_447,
        options: &[],
        what: "what the recovered member had not applied was held against what others had (the checker's mistake)",
        test: "none but the seed; see `check_survival` in simulation-tests/src/checkers/recovery.rs",
    },
    Found {
        seed: 401_682,
        options: &[],
        what: "a flipped bit in a list of the database's files ended the process with a panic within a panic",
        test: "raft/src/state_machine/manifest.rs: any_byte_of_a_list_that_changes_is_found",
    },
    Found {
        seed: 410_060,
        options: &[],
        what: "a member whose database had failed while a snapshot came went on, and could never take another one",
        test: "raft/tests/it/state_machine/transfer_faults.rs: a_transfer_that_the_database_cannot_take_ends_the_process",
    },
    Found {
        seed: 440_033,
        options: &["--workload", "store"],
        what: "what a member had applied before it was on its own disk was called lost, with the quorum (the checker's mistake)",
        test: "none but the seed; see `lose_voters` in simulation-tests/src/lost_quorum.rs",
    },
    Found {
        seed: 440_687,
        options: &["--workload", "store"],
        what: "a leader on its way out took another change before its own was whole, and was removed in the middle of that",
        test: HALF_DONE,
    },
    Found {
        seed: 500_997,
        options: &[],
        what: "a flipped byte in the number of a batch of the state's journal made the database panic at its next write",
        test: "raft/tests/it/state_machine/restart.rs: a_damaged_number_of_a_batch_is_refused_in_one_line",
    },
    Found {
        seed: 900_413,
        options: &[],
        what: "what a member had applied while its log waited for a segment was called lost, with the quorum (the checker's mistake)",
        test: "none but the seed; see `holds_entries` in simulation-tests/src/lost_quorum.rs",
    },
    Found {
        seed: 1_000_212,
        options: &[],
        what: "two objects whose deletions waited for each other kept the garbage collector busy for ever (the run did not end)",
        test: "api/tests/it/garbage.rs: owners_that_wait_for_each_other_go_together",
    },
    Found {
        seed: 5_001_422,
        options: &[],
        what: "a member whose disk went back behind a snapshot that it had installed was not told so, and its leader went wrong on its answers",
        test: "raft/src/rollback/high_water.rs: a_follower_takes_nothing_back",
    },
    Found {
        seed: 7_000_113,
        options: &[],
        what: "the plan of a recovery named the members that the state knew of, not those of the log that follows it",
        test: "raft/tests/it/recovery.rs: what_the_log_alone_knows_of_the_members_counts",
    },
];

/// Runs all of them, and then says of each that fails what it had found.
fn check<'a>(found: impl IntoIterator<Item = &'a Found>) {
    let mut wrong = Vec::new();
    for Found { seed, options, what, test } in found {
        let report = run_exactly(*seed, options);
        let violations = violations(&report);
        if !violations.is_empty() {
            let options = options.join(" ");
            let command = format!(
                "cargo run --profile simulation -p quorate-simulation -- --seed {seed} {options}"
            );
            wrong.push(format!("{command}: {violations:#?}; it once found: {what} ({test})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_short_runs_have_found_stays_away() {
    check(&SHORT);
}

/// Half an hour of a processor in a debug build; several times faster with the profile of the
/// simulation:
///
/// `cargo test --profile simulation -p quorate-simulation --test it -- --ignored
/// everything_that_was_found_stays_away`
#[test]
#[ignore = "takes long; the command is in the comment"]
fn everything_that_was_found_stays_away() {
    check(SHORT.iter().chain(&LONG));
}
