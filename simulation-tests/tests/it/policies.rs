//! Runs whose clients use the API while admission policies come and go.

use super::{replay, run, short, violations};

pub(super) const OPTIONS: [&str; 2] = ["--workload", "policies"];

#[test]
fn nothing_is_committed_that_a_policy_in_force_refuses() {
    let reports = [1, 2, 3].map(|seed| {
        let report = run(seed, &OPTIONS);
        assert_eq!(violations(&report), [""; 0], "{}", replay(seed, &short(&OPTIONS)));
        report
    });
    for count in [
        "creations",
        "updates",
        "policies and bindings created",
        "bindings changed",
        "policies and bindings deleted",
        "refused by policies",
    ] {
        let counts = reports.iter().map(|report| report["counts"][count].as_u64().unwrap_or(0));
        assert!(counts.sum::<u64>() > 8, "too few {count}: {reports:?}");
    }
}

/// How many seeds the broken variant takes at most.
const WITHIN: u64 = 12;

#[test]
fn writes_that_are_not_bound_to_policies_are_found() {
    let broken = ["--broken-api", "stale-policies"];
    let options: Vec<&str> = OPTIONS.iter().chain(&broken).copied().collect();
    let found = (1..=WITHIN).any(|seed| {
        let report = run(seed, &options);
        violations(&report).iter().any(|violation| violation.contains("policies: "))
    });
    assert!(found, "not found within {WITHIN} seeds: {}", replay(1, &short(&options)));
}
