//! Simulates whole clusters from seeds: the production replica (Raft, TLS, log, state machine) on a simulated network with simulated
//! disks, clocks and faults, and holds what clients saw against what was committed.
//!
//! `cargo run -p quorate-simulation -- --seeds 100` runs a hundred seeds; `-- --seed 42` replays one exactly.
//! Start reading at `run`; `determinism` says what is interposed and why.

mod api;
mod broken;
mod checkers;
mod clients;
mod cluster;
mod damage;
mod determinism;
mod disaster;
mod env;
mod faults;
mod gateway;
mod journals;
mod many;
mod node;
mod operator;
mod pki;
mod report;
mod run;
mod trace;
mod workload;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use api::BrokenApi;
use broken::Broken;
use faults::Kind;
use report::Report;
use run::Scenario;
use trace::Trace;
use workload::Workload;

/// How long faults go on unless asked otherwise, simulated seconds.
const DEFAULT_SECONDS: u64 = 20;

/// Simulates clusters under faults, from seeds.
#[derive(Debug, Clone, Parser)]
struct Arguments {
    /// How many seeds to run, one after the other from --seed on. Without it only --seed is run, and explained.
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed, or the only one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long faults go on, in simulated seconds.
    #[arg(long, default_value_t = DEFAULT_SECONDS)]
    seconds: u64,
    /// What the clients work with. Without it the seed decides.
    #[arg(long)]
    workload: Option<Workload>,
    /// Runs a deliberately broken variant, to see that it is found.
    #[arg(long)]
    broken: Option<Broken>,
    /// Only faults of this kind; may be given several times.
    #[arg(long)]
    only: Vec<Kind>,
    /// Most voters are lost for good, and the cluster is recovered; without it the seed decides.
    #[arg(long)]
    lose_quorum: bool,
    /// The same for a variant of the API.
    #[arg(long)]
    broken_api: Option<BrokenApi>,
    /// How many seeds run at the same time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Prints one line of JSON and nothing else: the report of the seed, or the sum of all.
    #[arg(long)]
    json: bool,
    /// With one seed: prints what the nodes log, from this level on (error, warn, info, debug, trace).
    #[arg(long)]
    log: Option<tracing::Level>,
    /// With one seed: writes every item of the trace to this file.
    #[arg(long)]
    trace: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let passed = match arguments.seeds {
        Some(seeds) => many::run(&arguments, seeds),
        None => one(&arguments),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            tell_error(&*error);
            ExitCode::from(2)
        }
    }
}

/// Runs one seed in this process. True when nothing is wrong.
fn one(arguments: &Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    if let Some(level) = arguments.log {
        let subscriber = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(io::stderr);
        subscriber.init();
    }
    let trace = Trace::default();
    if let Some(path) = &arguments.trace {
        trace.write_to(File::create(path)?);
    }
    let directory = tempfile::Builder::new().prefix("quorate-simulation-").tempdir()?;
    // Paths occur in messages that nodes send each other, so they must not have a random name in them.
    std::env::set_current_dir(directory.path())?;
    let faults = Duration::from_secs(arguments.seconds);
    let workload = arguments.workload.unwrap_or_else(|| Workload::of(arguments.seed));
    let (broken, broken_api, only) = (arguments.broken, arguments.broken_api, arguments.only.clone());
    let lose_quorum = arguments.lose_quorum;
    let scenario = Scenario { seed: arguments.seed, faults, workload, broken, broken_api, lose_quorum, only };
    // On a thread that has not drawn randomness yet: the standard library seeds its hash maps once for each thread.
    let running = || run::run(&scenario, &trace).map_err(|error| error.to_string());
    let report = std::thread::scope(|scope| scope.spawn(running).join());
    let report = report.map_err(|_| "the simulation itself panicked")??;
    tell(&report, arguments.json)?;
    Ok(report.violations.is_empty())
}

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn tell(report: &Report, json: bool) -> Result<(), serde_json::Error> {
    if json {
        println!("{}", serde_json::to_string(report)?);
    } else {
        print!("{}", many::describe(report));
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "why this program ends")]
fn tell_error(error: &dyn std::error::Error) {
    eprintln!("quorate-simulation: {error}");
}
