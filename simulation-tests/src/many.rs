//! Many seeds: each in a process of its own, so that every run begins the same as its replay does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde::Serialize;

use crate::Arguments;
use crate::report::Report;

/// All seeds together, as one line of JSON.
#[derive(Debug, Serialize)]
struct Summary {
    seeds: u64,
    failed: u64,
    wall_seconds: f64,
    /// The sums; every violation begins with its seed.
    total: Report,
}

/// Runs the seeds, tells the progress and the sum. True when nothing is wrong with any.
#[expect(clippy::print_stdout, reason = "the result of this program")]
pub(crate) fn run(arguments: &Arguments, seeds: u64) -> Result<bool, Box<dyn Error>> {
    let started = Instant::now();
    let (mut total, mut failed, mut done) = (Report::default(), 0, 0_u64);
    let mut coming = arguments.seed..arguments.seed + seeds;
    let mut running: VecDeque<(u64, Child)> = VecDeque::new();
    loop {
        while running.len() < arguments.jobs.max(1)
            && let Some(seed) = coming.next()
        {
            running.push_back((seed, start(arguments, seed)?));
        }
        let Some((seed, child)) = running.pop_front() else { break };
        let report = finish(seed, child)?;
        done += 1;
        total.add(&report);
        let rate = done as f64 / started.elapsed().as_secs_f64();
        let verdict = if report.violations.is_empty() { "ok" } else { "FAILED" };
        if !arguments.json {
            println!("seed {seed}: {verdict} ({done}/{seeds}, {rate:.2} seeds/s)");
        }
        if !report.violations.is_empty() {
            failed += 1;
            if !arguments.json {
                report.violations.iter().for_each(|violation| println!("  {violation}"));
                println!("  replay: {}", replay(arguments, seed));
            }
            total.violations.extend(report.violations.into_iter().map(|violation| format!("seed {seed}: {violation}")));
        }
    }
    let wall = started.elapsed().as_secs_f64();
    let simulated = total.simulated_ms as f64 / 1000.0;
    if arguments.json {
        let summary = Summary { seeds, failed, wall_seconds: wall, total };
        println!("{}", serde_json::to_string(&summary)?);
        return Ok(failed == 0);
    }
    println!(
        "{seeds} seeds, {failed} failed; {:.2} simulated hours in {wall:.1} s ({:.1} seconds per second)",
        simulated / 3600.0,
        simulated / wall
    );
    print!("{}", figures(&total));
    Ok(failed == 0)
}

/// One report for a person.
pub(crate) fn describe(report: &Report) -> String {
    let Report { seed, trace, traced_bytes, simulated_ms, .. } = report;
    let mut text = format!("seed {seed}: trace {trace:016x} over {traced_bytes} bytes, {simulated_ms} ms simulated\n");
    text += &figures(report);
    for violation in &report.violations {
        writeln!(text, "VIOLATION {violation}").expect("a string grows");
    }
    text
}

fn figures(report: &Report) -> String {
    let list: Vec<String> = report.counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
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
        let count = |state: &&String| cell(&counts.get(*state).map_or(String::new(), u64::to_string));
        let all = cell(&counts.values().sum::<u64>().to_string());
        text += &row(kind, states.iter().map(count).chain([all]).collect());
    }
    text
}

fn start(arguments: &Arguments, seed: u64) -> Result<Child, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(options(arguments, seed)).arg("--json");
    Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?)
}

/// A process that dies without a report has violated something as well.
fn finish(seed: u64, child: Child) -> Result<Report, Box<dyn Error>> {
    let output = child.wait_with_output()?;
    let report = serde_json::from_slice(&output.stdout);
    Ok(report.unwrap_or_else(|_| {
        let violation = format!("the simulation itself ended with {}", output.status);
        Report { seed, violations: vec![violation], ..Report::default() }
    }))
}

fn replay(arguments: &Arguments, seed: u64) -> String {
    format!("cargo run -p quorate-simulation -- {}", options(arguments, seed).join(" "))
}

fn options(arguments: &Arguments, seed: u64) -> Vec<String> {
    let mut options = vec!["--seed".to_owned(), seed.to_string()];
    if arguments.seconds != crate::DEFAULT_SECONDS {
        options.extend(["--seconds".to_owned(), arguments.seconds.to_string()]);
    }
    if arguments.lose_quorum {
        options.push("--lose-quorum".to_owned());
    }
    for kind in &arguments.only {
        options.extend(["--only".to_owned(), kind.name()]);
    }
    if let Some(workload) = arguments.workload.and_then(|workload| clap::ValueEnum::to_possible_value(&workload)) {
        options.extend(["--workload".to_owned(), workload.get_name().to_owned()]);
    }
    if let Some(broken) = arguments.broken_api.and_then(|broken| clap::ValueEnum::to_possible_value(&broken)) {
        options.extend(["--broken-api".to_owned(), broken.get_name().to_owned()]);
    }
    if let Some(broken) = arguments.broken.and_then(|broken| clap::ValueEnum::to_possible_value(&broken)) {
        options.extend(["--broken".to_owned(), broken.get_name().to_owned()]);
    }
    options
}
