//! Reports and their sum, put into words for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Goal, Sum};
use crate::report::Report;

impl Sum {
    /// Simulated.
    pub(super) fn hours(&self) -> f64 {
        self.total.simulated_ms as f64 / 3_600_000.0
    }

    /// How much of the goal is reached: 1 when it is.
    pub(super) fn part(&self, goal: Goal) -> f64 {
        match goal {
            Goal::Seeds(seeds) => self.seeds as f64 / seeds as f64,
            Goal::Hours(hours) => self.hours() / hours,
        }
        .min(1.0)
    }

    /// The option for what is left of the goal, when it was not reached.
    pub(super) fn rest(&self, goal: Goal) -> Option<String> {
        (self.part(goal) < 1.0).then(|| match goal {
            Goal::Seeds(seeds) => format!("--seeds {}", seeds - self.seeds),
            Goal::Hours(hours) => format!("--hours {:.2}", hours - self.hours()),
        })
    }

    /// What failed, how much was simulated and how fast.
    pub(super) fn speed(&self) -> String {
        let rate = self.hours() * 3600.0 / self.wall_seconds;
        format!("{} failed; {:.2} simulated hours, {rate:.1} s/s", self.failed.len(), self.hours())
    }

    /// Everything.
    pub(super) fn describe(&self) -> String {
        let mut text =
            format!("{} seeds in {:.1} s; {}\n", self.seeds, self.wall_seconds, self.speed());
        if !self.failed.is_empty() {
            writeln!(text, "failed seeds: {:?}", self.failed).expect("a string grows");
        }
        text + figures(&self.total).trim_end()
    }
}

/// One report.
pub(crate) fn describe(report: &Report) -> String {
    let Report { seed, trace, traced_bytes, simulated_ms, .. } = report;
    let mut text = format!(
        "seed {seed}: trace {trace:016x} over {traced_bytes} bytes, {simulated_ms} ms simulated\n"
    );
    text += &figures(report);
    for violation in &report.violations {
        writeln!(text, "VIOLATION {violation}").expect("a string grows");
    }
    text
}

fn figures(report: &Report) -> String {
    let list: Vec<String> =
        report.counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!("counts: {}\n{}", list.join(", "), table(&report.faults))
}

/// Which faults met which states: a row for each kind, a column for each state.
fn table(faults: &BTreeMap<String, BTreeMap<String, u64>>) -> String {
    let states: BTreeSet<&String> = faults.values().flat_map(BTreeMap::keys).collect();
    let cell = |text: &str| format!("{text:>12}");
    let row = |name: &str, cells: Vec<String>| format!("{name:<18}{}\n", cells.concat());
    let titles = states.iter().map(|state| cell(state)).chain([cell("all")]);
    let mut text = row("fault met", titles.collect());
    for (kind, counts) in faults {
        let count =
            |state: &&String| cell(&counts.get(*state).map_or(String::new(), u64::to_string));
        let all = cell(&counts.values().sum::<u64>().to_string());
        text += &row(kind, states.iter().map(count).chain([all]).collect());
    }
    text
}
