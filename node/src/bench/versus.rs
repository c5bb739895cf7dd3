//! The comparison of two clusters, for what a setting costs that only one of them has; or, in one
//! cluster, of two sorts of objects, or of two forms in which they are read.
//!
//! Invariants: both are measured in turn, and who begins changes from round to round, so that what
//! happens to the machine meanwhile happens to both; what is compared are the two of one round,
//! which lie side by side in time, and what is told is the median of these ratios with the interval
//! in which it lies with a probability of 95 %, whatever their distribution. On a noisy machine
//! many short rounds tell more than a few long ones.

#[cfg(test)]
mod tests;

use std::f64::consts::LN_2;
use std::fmt::{self, Display, Formatter};

use quorate_env::Env;
use serde::Serialize;

use super::report::Report;
use super::{MeasuredCluster, MeasuredObjects, Options};
use crate::cli::Output;
use crate::error::Error;
use crate::terminal::print_line;

/// How likely an interval may miss what it is about.
const MISSES: f64 = 0.05;

/// How the second cluster does beside the first.
#[derive(Debug, Serialize)]
struct Comparison {
    workload: String,
    operations_per_second: Ratio,
    cpu_per_operation: Ratio,
    latency_p99: Ratio,
}

/// The second cluster's figure by the first one's; 1.0 is the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Ratio {
    median: f64,
    /// Where it lies with a probability of 95 %; `None` after fewer than six rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(f64, f64)>,
}

/// Measures two in turn.
pub(super) async fn run(
    options: &Options,
    [first, second]: [MeasuredObjects<'_>; 2],
    env: &Env,
) -> Result<(), Error> {
    let first = MeasuredCluster::prepare(options, first, env).await?;
    let second = match MeasuredCluster::prepare(options, second, env).await {
        Ok(second) => second,
        Err(error) => {
            // The first error is returned; one of the clean-up is not.
            let _ = first.clean_up(env).await;
            return Err(error);
        }
    };
    let clusters = [first, second];
    let measured = measure(&clusters, options, env).await;
    let [first, second] = clusters;
    let cleaned_up = [first.clean_up(env).await, second.clean_up(env).await];
    let ([first, second], comparisons) = measured?;
    cleaned_up.into_iter().collect::<Result<(), _>>()?;
    if options.output == Output::Table {
        comparisons.iter().for_each(|comparison| print_line(comparison.line()));
    } else {
        let all =
            serde_json::json!({ "first": first, "second": second, "comparisons": comparisons });
        print_line(format_args!("{all:#}"));
    }
    Ok(())
}

/// Measures both in turn. Gives the reports of each, and how they compare.
async fn measure(
    clusters: &[MeasuredCluster; 2],
    options: &Options,
    env: &Env,
) -> Result<([Vec<Report>; 2], Vec<Comparison>), Error> {
    let (mut reports, mut comparisons) = ([Vec::new(), Vec::new()], Vec::new());
    let told = options.output == Output::Table;
    if told {
        print_line(format_args!("{:<8} {}", "cluster", Report::header()));
    }
    for kind in &options.workloads {
        let begun = reports[0].len();
        for round in 0..options.rounds {
            let begins = usize::from(round % 2 == 1);
            for at in [begins, 1 - begins] {
                let report = clusters[at].measure(*kind, round, options, env).await?;
                if told {
                    print_line(format_args!("{:<8} {report}", ["first", "second"][at]));
                }
                reports[at].push(report);
            }
        }
        comparisons.push(Comparison::of(
            kind.to_string(),
            &reports[0][begun..],
            &reports[1][begun..],
        ));
    }
    Ok((reports, comparisons))
}

impl Comparison {
    fn of(workload: String, first: &[Report], second: &[Report]) -> Self {
        let ratio = |of: fn(&Report) -> f64| {
            let pairs = first.iter().zip(second).map(|(first, second)| (of(first), of(second)));
            Ratio::of(
                pairs
                    .map(|(first, second)| if first > 0.0 { second / first } else { 1.0 })
                    .collect(),
            )
        };
        Self {
            workload,
            operations_per_second: ratio(|report| report.operations_per_second),
            cpu_per_operation: ratio(|report| report.cpu_ms_per_1000_operations),
            latency_p99: ratio(|report| report.latency_ms.p99),
        }
    }

    fn line(&self) -> String {
        format!(
            "{}: the second has {} ops/s, {} CPU for each, {} latency (p99)",
            self.workload, self.operations_per_second, self.cpu_per_operation, self.latency_p99
        )
    }
}

impl Ratio {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        let outside = outside(rounds.len());
        let interval = (outside > 0).then(|| (rounds[outside - 1], rounds[rounds.len() - outside]));
        Self { median: median(&rounds), interval }
    }
}

impl Display for Ratio {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        write!(f, "{:+.1} %", percent(self.median))?;
        match self.interval {
            Some((low, high)) => write!(f, " ({:+.1} to {:+.1})", percent(low), percent(high)),
            None => Ok(()),
        }
    }
}

/// How many of so many values, sorted, are left out at each end, the last of them being the bound
/// of the interval in which the median lies with a probability of 95 %: each value lies below it as
/// likely as above, so how many do follows a binomial distribution.
fn outside(rounds: usize) -> usize {
    // The logarithms of probabilities: of many rounds, that of none lying below is too small for a
    // number.
    let mut ln_probability = -(to_f64(rounds) * LN_2);
    let mut tail = 0.0;
    for below in 0..rounds {
        tail += ln_probability.exp();
        if tail > MISSES / 2.0 {
            return below;
        }
        ln_probability += (to_f64(rounds - below) / to_f64(below + 1)).ln();
    }
    0
}

/// The value in the middle of sorted ones, or the mean of the two that are; 1.0 of none.
fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 1.0,
        length if length % 2 == 0 => sorted[length / 2 - 1].midpoint(sorted[length / 2]),
        length => sorted[length / 2],
    }
}

/// A count of rounds, which a float holds exactly.
fn to_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
