//! `quorate bench`: measures a running cluster from outside, through its API, as clients see it.
//!
//! Each measurement prepares what it needs (a namespace, objects), lets a fixed number of clients send one request after
//! the other for a fixed time, and reports throughput, latency, and the CPU time and memory of the server processes over
//! exactly that time. It measures durable servers only: there is nothing to turn fsync off with. It does not judge.

mod latency;
mod load;
mod options;
mod process;
mod report;
mod target;
mod watchers;
mod workload;

pub(crate) use options::Options;

use quorate_store::env::Env;

use crate::cli::Output;
use crate::console::say;
use crate::error::Error;
use report::Report;
use target::Target;
use workload::{Kind, Workspace};

/// Runs every measurement that was asked for.
pub(crate) async fn run(options: &Options, env: &Env) -> Result<(), Error> {
    let target = Target::find(options)?;
    let workspace = Workspace::prepare(&target, options, env).await?;
    let mut reports = Vec::new();
    for kind in &options.workloads {
        let report = match kind {
            Kind::Watch => watchers::run(&target, &workspace, options, env).await?,
            _ => load::run(*kind, &target, &workspace, options, env).await?,
        };
        if options.output == Output::Table {
            if reports.is_empty() {
                say(Report::header());
            }
            say(&report);
        }
        reports.push(report);
    }
    workspace.clean_up(&target, env).await?;
    if options.output == Output::Json {
        say(serde_json::to_string_pretty(&reports).map_err(Error::failed)?);
    }
    Ok(())
}
