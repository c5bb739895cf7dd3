//! Runs whose clients speak HTTP to the API server of every node.

use super::{SECONDS, run, violations};

const API: [&str; 2] = ["--workload", "api"];

#[test]
fn a_seed_gives_the_same_trace_with_the_api_as_well() {
    let (first, second, other) = (run(7, &API), run(7, &API), run(8, &API));
    assert!(first["traced_bytes"].as_u64().unwrap() > 1_000_000, "{first}");
    assert_eq!(first, second);
    assert_ne!(first["trace"], other["trace"]);
}

#[test]
fn nothing_is_wrong_with_the_real_api() {
    for seed in [1, 2, 3] {
        let report = run(seed, &API);
        let command = format!("cargo run -p quorate-simulation -- --workload api --seed {seed} --seconds {SECONDS}");
        assert_eq!(violations(&report), [""; 0], "{command}");
        for count in ["creations", "updates", "lists", "refused by the API", "watch events", "bookmarks"] {
            assert!(report["counts"][count].as_u64().unwrap_or(0) > 4, "seed {seed}: too few {count}: {report}");
        }
    }
}
