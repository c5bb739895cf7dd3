//! `quorate bench`, again and again, while the faults come.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::support::Compose;

/// What a run measures.
const WORKLOADS: [&str; 2] = ["create", "get"];
/// Its size: the machine does other things as well.
const SIZE: [&str; 8] =
    ["--clients", "2", "--objects", "20", "--duration", "3s", "--output", "json"];
/// Runs at the end, one of which has to succeed: on a busy machine the load balancer may take a node
/// for lost once more.
const LAST_RUNS: u32 = 3;

/// What the runs have counted.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Runs that have measured.
    pub(super) runs: u64,
    /// Runs whose preparation or removal has met a fault.
    pub(super) ended_early: u64,
    /// Requests that were answered well, and that were not.
    pub(super) operations: u64,
    pub(super) errors: u64,
}

/// The runs.
pub(super) struct Bench {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Measured>,
}

impl Bench {
    /// Begins at the servers at an address.
    pub(super) fn start(compose: &Compose, address: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let file = |name: &str| compose.credentials().join(name).to_str().unwrap().to_owned();
        let credentials = [
            ("--server", address.to_owned()),
            ("--ca", file("ca.crt")),
            ("--cert", file("admin.crt")),
            ("--key", file("admin.key")),
        ];
        let mut arguments = vec!["bench".to_owned()];
        arguments.extend(WORKLOADS.map(str::to_owned));
        arguments
            .extend(credentials.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
        arguments.extend(SIZE.map(str::to_owned));
        let task = tokio::spawn(run(arguments, stop.clone()));
        Self { stop, task }
    }

    /// Ends with a run that succeeds, once there are no more faults.
    pub(super) async fn finish(self) -> Measured {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn run(arguments: Vec<String>, stop: Arc<AtomicBool>) -> Measured {
    let (mut measured, mut last_runs) = (Measured::default(), 0);
    loop {
        last_runs += u32::from(stop.load(Ordering::Relaxed));
        let mut bench = Command::new(env!("CARGO_BIN_EXE_quorate"));
        bench.args(&arguments).stdin(Stdio::null()).kill_on_drop(true);
        let output = bench.output().await.unwrap();
        if output.status.success() {
            measured.runs += 1;
            let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
            for report in reports.as_array().unwrap() {
                measured.operations += report["operations"].as_u64().unwrap();
                measured.errors += report["errors"].as_u64().unwrap();
            }
            if last_runs > 0 {
                return measured;
            }
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            println!("bench: {}", errors.lines().last().unwrap_or_default());
            measured.ended_early += 1;
            assert!(last_runs < LAST_RUNS, "bench without a fault: {errors}");
        }
    }
}
