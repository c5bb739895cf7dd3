//! Runs whose clients speak HTTP to the API server of every node.

use super::{replay, run, short, violations};

pub(super) const OPTIONS: [&str; 2] = ["--workload", "api"];

#[test]
fn nothing_is_wrong_with_the_real_api() {
    for seed in [1, 2, 3] {
        let report = run(seed, &OPTIONS);
        assert_eq!(violations(&report), [""; 0], "{}", replay(seed, &short(&OPTIONS)));
        for count in
            ["creations", "updates", "lists", "refused by the API", "watch events", "bookmarks"]
        {
            assert!(
                report["counts"][count].as_u64().unwrap_or(0) > 2,
                "seed {seed}: too few {count}: {report}"
            );
        }
    }
}

/// Every broken variant of the API, how many seeds it takes at most, and what the checkers say
/// about it.
const BROKEN: [(&str, u64, &str); 14] = [
    ("skipped-precondition", 2, "it was bound to"),
    ("local-read", 6, "had been shown before"),
    ("newest-page", 3, "reads: "),
    ("lost-event", 2, "is due"),
    ("early-expiry", 2, "though it is"),
    ("early-bookmark", 2, "was shown before it began"),
    ("ignored-selector", 2, "watches: "),
    ("persisted-dry-run", 2, "and carried out at"),
    ("ignored-finalizer", 6, "while a finalizer holds it"),
    ("open-namespace", 6, "in a namespace that does not exist"),
    ("overwriting-create", 2, "its uid changes"),
    ("shared-address", 4, "addresses: "),
    ("forgotten-kind", 4, "liveness: "),
    ("skipped-owner", 8, "liveness: "),
];

#[test]
fn every_broken_variant_of_the_api_is_found() {
    for (broken, within, expect) in BROKEN {
        let found = (1..=within).any(|seed| {
            let report = run(seed, &["--workload", "api", "--broken-api", broken]);
            violations(&report).iter().any(|violation| violation.contains(expect))
        });
        assert!(found, "{broken} was not found within {within} seeds");
    }
}
