//! Medians, intervals and ratios of comparisons.

use super::*;

#[test]
fn medians() {
    let check =
        |sorted: &[f64], expect: f64| assert!((median(sorted) - expect).abs() < 1e-9, "{sorted:?}");
    check(&[], 1.0);
    check(&[3.0], 3.0);
    check(&[1.0, 2.0, 9.0], 2.0);
    check(&[1.0, 2.0, 4.0, 9.0], 3.0);
}

/// By a table of the sign test's critical values, two-sided, 5 %.
#[test]
fn an_interval_leaves_out_what_a_median_seldom_is() {
    let check = |rounds, expect| assert_eq!(outside(rounds), expect, "{rounds}");
    [(0, 0), (5, 0), (6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (25, 8), (50, 18), (100, 40)]
        .into_iter()
        .for_each(|(rounds, expect)| check(rounds, expect));
    assert!((460..480).contains(&outside(1000)));
}

#[test]
fn ratios_are_of_what_lies_side_by_side() {
    let of = |rounds: &[f64]| Ratio::of(rounds.to_vec());
    assert_eq!(of(&[1.1, 0.9, 1.0]), Ratio { median: 1.0, interval: None });
    let six = [0.95, 0.9, 0.97, 0.99, 0.93, 1.2];
    assert_eq!(of(&six), Ratio { median: 0.96, interval: Some((0.9, 1.2)) });
}

#[test]
fn a_line_says_what_is_more_and_what_is_less() {
    let sure = |median| Ratio { median, interval: None };
    let comparison = Comparison {
        workload: "create".into(),
        operations_per_second: Ratio { median: 0.97, interval: Some((0.955, 1.001)) },
        cpu_per_operation: sure(1.031),
        latency_p99: sure(1.0),
    };
    let expect = "create: the second has -3.0 % (-4.5 to +0.1) ops/s, +3.1 % CPU for each, +0.0 % latency (p99)";
    assert_eq!(comparison.line(), expect);
}
