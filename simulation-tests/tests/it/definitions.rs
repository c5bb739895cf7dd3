//! Runs whose clients define custom resources while others use them.

use super::{replay, run, short, violations};

pub(super) const OPTIONS: [&str; 2] = ["--workload", "definitions"];

#[test]
fn nothing_is_wrong_with_real_definitions() {
    let reports = [1, 2, 3, 4].map(|seed| {
        let report = run(seed, &OPTIONS);
        assert_eq!(violations(&report), [""; 0], "{}", replay(seed, &short(&OPTIONS)));
        report
    });
    for count in [
        "creations",
        "tables",
        "discoveries",
        "watch events",
        "watches ended",
        "definitions created",
        "definitions changed",
        "deletions of definitions",
        "not known to a node",
    ] {
        let counts = reports.iter().map(|report| report["counts"][count].as_u64().unwrap_or(0));
        assert!(counts.sum::<u64>() > 8, "too few {count}: {reports:?}");
    }
}

/// Every broken variant of definitions, how many seeds it takes at most, and what the checkers say
/// about it.
const BROKEN: [(&str, u64, &str); 5] = [
    ("frozen-definitions", 3, "served: "),
    ("forgotten-objects", 4, "lifetime: "),
    ("open-definition", 6, "it is created "),
    ("endless-watch", 2, "is open 5s after"),
    ("silent-removal", 4, "watch ends: "),
];

#[test]
fn every_broken_variant_of_definitions_is_found() {
    for (broken, within, expect) in BROKEN {
        let options = ["--broken-api", broken];
        let options: Vec<&str> = OPTIONS.iter().chain(&options).copied().collect();
        let found = (1..=within).any(|seed| {
            let report = run(seed, &options);
            violations(&report).iter().any(|violation| violation.contains(expect))
        });
        assert!(found, "not found within {within} seeds: {}", replay(1, &short(&options)));
    }
}
