//! The simulation of whole clusters from seeds: the production replica (Raft, TLS, log, state
//! machine) on a simulated network with simulated disks, clocks and faults; checkers compare what
//! clients saw with what was committed.
//!
//! `cargo run --profile simulation -p quorate-simulation -- --seeds 100` runs a hundred seeds, `--
//! --hours 200` as many as it takes; `-- --seed 42` replays one exactly. The profile is optimized
//! and has the assertions of a debug build; a seed does the same in all profiles. Start reading at
//! `run`; `determinism` says what is interposed and why.

mod api;
mod archive_folder;
mod broken;
mod checkers;
mod clients;
mod cluster;
mod damage;
mod determinism;
mod env;
mod faults;
mod gateway;
mod lost_quorum;
mod many;
mod node;
mod operator;
mod panics;
mod pki;
mod plan;
mod report;
mod rounds;
mod run;
mod topology;
mod trace;
mod workload;

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tempfile::TempDir;

use api::BrokenApi;
use broken::Broken;
use faults::FaultKind;
use many::Goal;
use report::Report;
use run::Scenario;
use trace::Trace;
use workload::Workload;

/// Where systems have a file system in memory.
const MEMORY: &str = "/dev/shm";

/// Simulates clusters under faults, from seeds.
#[derive(Debug, Clone, Parser)]
struct Arguments {
    /// How many seeds to run, from --seed on. Without this and --hours only --seed is run, and
    /// explained.
    #[arg(long)]
    seeds: Option<u64>,
    /// Runs seeds, from --seed on, until so many simulated hours are done. An interrupt ends it
    /// with a summary.
    #[arg(long, conflicts_with = "seeds")]
    hours: Option<f64>,
    /// The first seed, or the only one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long faults go on, in simulated seconds, in rounds of a minute at most, after each of
    /// which everything must heal. Without it the seed decides: one to four minutes.
    #[arg(long)]
    seconds: Option<u64>,
    /// What the clients work with. Without it the seed decides.
    #[arg(long)]
    workload: Option<Workload>,
    /// Runs a deliberately broken variant, to see that it is found.
    #[arg(long)]
    broken: Option<Broken>,
    /// Only faults of this kind; may be given several times.
    #[arg(long)]
    only: Vec<FaultKind>,
    /// Most voters are lost for good, and the cluster is recovered; without it the seed decides.
    #[arg(long)]
    lose_quorum: bool,
    /// The same for a variant of the API.
    #[arg(long)]
    broken_api: Option<BrokenApi>,
    /// How many seeds run at the same time.
    #[arg(long, default_value_t = cores())]
    jobs: NonZeroUsize,
    /// Prints one line of JSON and nothing else: the report of the seed, or the sum of all.
    #[arg(long)]
    json: bool,
    /// With one seed: prints what the nodes log, from this level on (error, warn, info, debug,
    /// trace).
    #[arg(long)]
    log: Option<tracing::Level>,
    /// With one seed: writes every item of the trace to this file.
    #[arg(long)]
    trace: Option<PathBuf>,
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let passed = match (arguments.seeds, arguments.hours) {
        (Some(seeds), _) => many::run(&arguments, Goal::Seeds(seeds)),
        (None, Some(hours)) => many::run(&arguments, Goal::Hours(hours)),
        (None, None) => one(&arguments),
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

/// All cores of this machine.
fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// A folder for the nodes' state: in memory if possible, unless `TMPDIR` says where.
fn folder() -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("quorate-simulation-");
    if std::env::var_os("TMPDIR").is_none()
        && let Ok(folder) = folder.tempdir_in(MEMORY)
    {
        return Ok(folder);
    }
    folder.tempdir()
}

/// Runs one seed in this process. True when nothing is wrong.
fn one(arguments: &Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    if let Some(level) = arguments.log {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(io::stderr);
        subscriber.init();
    }
    let trace = Trace::default();
    if let Some(path) = &arguments.trace {
        trace.write_to(File::create(path)?);
    }
    let directory = folder()?;
    // Paths occur in messages that nodes send each other, so they must not have a random name in
    // them.
    std::env::set_current_dir(directory.path())?;
    let faults = arguments.seconds.map(Duration::from_secs);
    let workload = arguments.workload.unwrap_or_else(|| Workload::of(arguments.seed));
    let (broken, broken_api, only) =
        (arguments.broken, arguments.broken_api, arguments.only.clone());
    let lose_quorum = arguments.lose_quorum;
    let scenario =
        Scenario { seed: arguments.seed, faults, workload, broken, broken_api, lose_quorum, only };
    // On a thread that has not drawn randomness yet: the standard library seeds its hash maps once
    // for each thread.
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
