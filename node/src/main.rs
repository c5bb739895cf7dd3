//! `quorate`, the binary: parses the command line, carries out one command, and prints one line
//! when it fails.

mod admin;
mod allocator;
mod audit;
mod authorization;
mod bench;
mod cli;
mod cluster_client;
mod command;
mod config;
mod data_dir;
mod error;
mod file_watch;
mod files;
mod join_protocol;
mod kubeconfig;
mod log_once;
mod pki;
mod serde_text;
mod serve;
mod setup;
mod signals;
mod signing_keys;
mod telemetry;
mod terminal;
mod webhook;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::cli::Cli;

/// How long tasks that still run are waited for at the end.
const LAST_TASKS: Duration = Duration::from_millis(200);

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

fn main() -> ExitCode {
    let cli = Cli::parse();
    if !cli.no_deprecation_warnings {
        let given = std::env::args().skip(1);
        cli::deprecation_warnings(given).iter().for_each(terminal::print_warning);
    }
    let outcome = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(command::run(cli.command));
            // Nothing is logged behind the last line. A read of standard input ends when the other
            // side wants it to, so the wait is bounded.
            runtime.shutdown_timeout(LAST_TASKS);
            outcome
        }
        Err(error) => Err(error::Error::failed(error)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::print_error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
