//! One seed in a process of its own.
//!
//! Invariants: a process that dies, or does not come to an end, without a report has violated
//! something as well; processes are in groups of their own, so that an interrupt reaches the one
//! that started them and not them.

use std::error::Error;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::ValueEnum;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::Arguments;
use crate::report::Report;

/// After this a process does not end any more. Real time, so far more than a seed takes on any
/// machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(900);

/// Starts them all.
pub(super) struct Processes {
    arguments: Arguments,
    program: PathBuf,
    /// Where they keep their folders; removed with everything that those that were killed left
    /// behind.
    folder: TempDir,
}

impl Processes {
    pub(super) fn new(arguments: &Arguments) -> io::Result<Self> {
        let (program, folder) = (std::env::current_exe()?, crate::folder()?);
        Ok(Self { arguments: arguments.clone(), program, folder })
    }

    /// Runs one seed. Dropping the future ends the process.
    pub(super) async fn run(&self, seed: u64) -> Result<Report, Box<dyn Error>> {
        let mut command = Command::new(&self.program);
        command
            .args(options(&self.arguments, seed))
            .arg("--json")
            .env("TMPDIR", self.folder.path());
        // Memory that was freed is used again soon: giving it back to the system costs more than it
        // is worth.
        command.env("MIMALLOC_PURGE_DELAY", "-1");
        command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0).kill_on_drop(true);
        let Ok(output) = timeout(ANSWER_LIMIT, command.output()).await else {
            return Ok(failed(
                seed,
                format!("the simulation itself has not ended after {ANSWER_LIMIT:?}"),
            ));
        };
        let output = output?;
        let report = serde_json::from_slice(&output.stdout);
        Ok(report.unwrap_or_else(|_| {
            failed(seed, format!("the simulation itself ended with {}", output.status))
        }))
    }

    /// The command that runs a seed again.
    pub(super) fn replay(&self, seed: u64) -> String {
        let (profile, options) = (profile(&self.program), options(&self.arguments, seed).join(" "));
        format!("cargo run {profile}-p quorate-simulation -- {options}")
    }
}

/// What cargo has to be told to build this program again: its profile names the folder that the
/// program is in.
fn profile(program: &Path) -> String {
    match program.parent().and_then(Path::file_name).and_then(OsStr::to_str) {
        None | Some("debug") => String::new(),
        Some("release") => "--release ".to_owned(),
        Some(profile) => format!("--profile {profile} "),
    }
}

fn failed(seed: u64, violation: String) -> Report {
    Report { seed, violations: vec![violation], ..Report::default() }
}

/// The arguments of a process that runs one seed.
fn options(arguments: &Arguments, seed: u64) -> Vec<String> {
    let mut options = vec!["--seed".to_owned(), seed.to_string()];
    if arguments.lose_quorum {
        options.push("--lose-quorum".to_owned());
    }
    let mut option = |name: &str, value: String| options.extend([name.to_owned(), value]);
    arguments.seconds.iter().for_each(|seconds| option("--seconds", seconds.to_string()));
    arguments.only.iter().for_each(|kind| option("--only", name(kind)));
    arguments.workload.iter().for_each(|workload| option("--workload", name(workload)));
    arguments.broken.iter().for_each(|broken| option("--broken", name(broken)));
    arguments.broken_api.iter().for_each(|broken| option("--broken-api", name(broken)));
    options
}

/// What a value is called on the command line.
fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
