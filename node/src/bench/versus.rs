//! Two clusters side by side: what a setting costs that one of them has and the other has not.
//!
//! Invariant: both are measured in turn, and who begins changes from round to round, so that what happens to the machine
//! meanwhile happens to both. What is compared are medians.

use std::path::Path;

use quorate_store::env::Env;
use serde::Serialize;

use super::report::Report;
use super::{Options, Subject};
use crate::cli::Output;
use crate::console::say;
use crate::error::Error;

/// How the second cluster does beside the first: 1.0 is the same.
#[derive(Debug, Serialize)]
struct Comparison {
    workload: String,
    operations_per_second: f64,
    cpu_per_operation: f64,
    latency_p99: f64,
}

/// Measures the cluster of the options and another one.
pub(super) async fn run(options: &Options, other: &Path, env: &Env) -> Result<(), Error> {
    let first = Subject::prepare(options, &options.data_dir, env).await?;
    let subjects = [first, Subject::prepare(options, other, env).await?];
    let (mut reports, mut comparisons) = ([Vec::new(), Vec::new()], Vec::new());
    let told = options.output == Output::Table;
    if told {
        say(format_args!("{:<8} {}", "cluster", Report::header()));
    }
    for kind in &options.workloads {
        let begun = reports[0].len();
        for round in 0..options.rounds {
            let begins = usize::from(round % 2 == 1);
            for at in [begins, 1 - begins] {
                let report = subjects[at].measure(*kind, round, options, env).await?;
                if told {
                    say(format_args!("{:<8} {report}", ["first", "second"][at]));
                }
                reports[at].push(report);
            }
        }
        comparisons.push(Comparison::of(kind.to_string(), &reports[0][begun..], &reports[1][begun..]));
    }
    for subject in subjects {
        subject.clean_up(env).await?;
    }
    if told {
        comparisons.iter().for_each(|comparison| say(comparison.line()));
    } else {
        let [first, second] = reports;
        let all = serde_json::json!({ "first": first, "second": second, "comparisons": comparisons });
        say(format_args!("{all:#}"));
    }
    Ok(())
}

impl Comparison {
    fn of(workload: String, first: &[Report], second: &[Report]) -> Self {
        let ratio = |of: fn(&Report) -> f64| {
            let [first, second] = [first, second].map(|reports| median(reports.iter().map(of).collect()));
            if first > 0.0 { second / first } else { 1.0 }
        };
        Self {
            workload,
            operations_per_second: ratio(|report| report.operations_per_second),
            cpu_per_operation: ratio(|report| report.cpu_ms_per_1000_operations),
            latency_p99: ratio(|report| report.latency_ms.p99),
        }
    }

    fn line(&self) -> String {
        let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        format!(
            "{}: the second has {} ops/s, {} CPU for each, {} latency (p99)",
            self.workload,
            percent(self.operations_per_second),
            percent(self.cpu_per_operation),
            percent(self.latency_p99)
        )
    }
}

/// The value in the middle, or the mean of the two that are; zero of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        length if length % 2 == 0 => values[length / 2 - 1].midpoint(values[length / 2]),
        length => values[length / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let check =
            |values: &[f64], expect: f64| assert!((median(values.to_vec()) - expect).abs() < 1e-9, "{values:?}");
        check(&[], 0.0);
        check(&[3.0], 3.0);
        check(&[9.0, 1.0, 2.0], 2.0);
        check(&[4.0, 1.0, 2.0, 9.0], 3.0);
    }

    #[test]
    fn a_line_says_what_is_more_and_what_is_less() {
        let comparison = Comparison {
            workload: "create".into(),
            operations_per_second: 0.97,
            cpu_per_operation: 1.031,
            latency_p99: 1.0,
        };
        let expect = "create: the second has -3.0 % ops/s, +3.1 % CPU for each, +0.0 % latency (p99)";
        assert_eq!(comparison.line(), expect);
    }
}
