//! Many seeds: each in a process of its own, so that every run begins the same as its replay does.
//!
//! Seeds run until there were so many of them, or so many simulated hours; an interrupt ends them
//! early, and what there was is summed up all the same, with the command that goes on from there. A
//! failing seed is told at once, with the command that replays it.
//!
//! `process` runs one seed, `summary` puts figures into words.

mod process;
mod summary;

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::interval;

use crate::Arguments;
use crate::report::Report;
use process::Processes;

pub(crate) use summary::describe;

/// From one line of progress to the next, unless a seed fails.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// A seed that takes longer is named, as often, until it ends.
const SLOW: Duration = Duration::from_secs(60);
/// So many runs in a row without any simulated time end a soak: something is wrong with the
/// machine, such as a full disk.
const MOST_BARREN: u32 = 20;
/// Up to so many seeds each has a line of its own.
const FEW_SEEDS: u64 = 50;

/// How much is to be run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// So many seeds.
    Seeds(u64),
    /// Seeds until so many simulated hours are done.
    Hours(f64),
}

/// All seeds together.
#[derive(Debug, Default, Serialize)]
struct Sum {
    seeds: u64,
    failed: Vec<u64>,
    wall_seconds: f64,
    /// The first seed that was not run to its end.
    next_seed: u64,
    /// The sums; every violation begins with its seed.
    total: Report,
}

/// Runs the seeds, tells the progress and the sum. True when nothing is wrong with any.
pub(crate) fn run(arguments: &Arguments, goal: Goal) -> Result<bool, Box<dyn Error>> {
    let processes = Processes::new(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sum = runtime.block_on(Box::pin(run_all(arguments, goal, &processes)))?;
    tell(&if arguments.json { serde_json::to_string(&sum)? } else { sum.describe() });
    if !arguments.json
        && let Some(rest) = sum.rest(goal)
    {
        tell(&format!("to go on: {} {rest}", processes.replay(sum.next_seed)));
    }
    Ok(sum.failed.is_empty())
}

async fn run_all(
    arguments: &Arguments,
    goal: Goal,
    processes: &Processes,
) -> Result<Sum, Box<dyn Error>> {
    let (mut interrupt, mut end) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut progress = SeedProgress::new(arguments, goal);
    let mut running = FuturesUnordered::new();
    let mut looks = interval(SLOW);
    loop {
        while running.len() < arguments.jobs.get()
            && let Some(seed) = progress.next_seed()
        {
            running.push(processes.run(seed));
        }
        tokio::select! {
            done = running.next() => match done {
                Some(report) => progress.add(report?, processes),
                None => break,
            },
            _ = looks.tick() => progress.tell_slow(),
            _ = interrupt.recv() => break,
            _ = end.recv() => break,
        }
    }
    Ok(progress.end())
}

struct SeedProgress {
    goal: Goal,
    coming: Range<u64>,
    /// The seeds that run, since when.
    running: BTreeMap<u64, Instant>,
    started: Instant,
    told: Instant,
    silent: bool,
    /// Runs in a row that simulated nothing.
    barren: u32,
    sum: Sum,
}

impl SeedProgress {
    fn new(arguments: &Arguments, goal: Goal) -> Self {
        let count = match goal {
            Goal::Seeds(seeds) => seeds,
            Goal::Hours(_) => u64::MAX,
        };
        let (now, first) = (Instant::now(), arguments.seed);
        let coming = first..first.saturating_add(count);
        let (silent, sum) = (arguments.json, Sum::default());
        Self {
            goal,
            coming,
            running: BTreeMap::new(),
            started: now,
            told: now,
            silent,
            barren: 0,
            sum,
        }
    }

    fn next_seed(&mut self) -> Option<u64> {
        match self.goal {
            Goal::Hours(hours) if self.sum.hours() >= hours || self.barren >= MOST_BARREN => None,
            _ => {
                let seed = self.coming.next()?;
                self.running.insert(seed, Instant::now());
                Some(seed)
            }
        }
    }

    fn add(&mut self, report: Report, processes: &Processes) {
        let (seed, violations) = (report.seed, &report.violations);
        self.running.remove(&seed);
        self.sum.seeds += 1;
        self.barren = if report.simulated_ms == 0 { self.barren + 1 } else { 0 };
        self.sum.total.add(&report);
        self.sum.wall_seconds = self.started.elapsed().as_secs_f64();
        if !violations.is_empty() {
            self.sum.failed.push(seed);
            let mut text = format!("seed {seed}: FAILED\n");
            violations.iter().for_each(|violation| text += &format!("  {violation}\n"));
            self.tell(&(text + "  replay: " + &processes.replay(seed)));
            self.sum
                .total
                .violations
                .extend(violations.iter().map(|violation| format!("seed {seed}: {violation}")));
        }
        if matches!(self.goal, Goal::Seeds(count) if count <= FEW_SEEDS) {
            let verdict = if violations.is_empty() { "ok" } else { "FAILED" };
            self.tell(&format!(
                "seed {seed}: {verdict}, {} ms simulated ({})",
                report.simulated_ms,
                self.so_far()
            ));
        } else if self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            self.tell(&self.so_far());
        }
    }

    fn tell_slow(&self) {
        for (seed, since) in &self.running {
            let time = since.elapsed();
            if time >= SLOW {
                self.tell(&format!("seed {seed} has been running for {} s", time.as_secs()));
            }
        }
    }

    /// How far everything is, in one line.
    fn so_far(&self) -> String {
        let goal = match self.goal {
            Goal::Seeds(seeds) => format!(" of {seeds}"),
            Goal::Hours(hours) => format!(", towards {hours} simulated hours"),
        };
        let rate = self.sum.seeds as f64 / self.sum.wall_seconds;
        let left = self.sum.wall_seconds * (1.0 / self.sum.part(self.goal) - 1.0) / 60.0;
        format!(
            "{}{goal}; {rate:.2} seeds/s; {}; {left:.0} min left",
            self.sum.seeds,
            self.sum.speed()
        )
    }

    fn end(mut self) -> Sum {
        self.sum.wall_seconds = self.started.elapsed().as_secs_f64();
        self.sum.next_seed = self.running.keys().next().copied().unwrap_or(self.coming.start);
        self.sum
    }

    fn tell(&self, text: &str) {
        if !self.silent {
            tell(text);
        }
    }
}

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn tell(text: &str) {
    println!("{text}");
}
