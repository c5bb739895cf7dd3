//! `quorate`: the binary. Parses the command line, carries out one command, and says in one line why it failed.

mod admin;
mod bench;
mod cli;
mod client;
mod command;
mod config;
mod console;
mod data_dir;
mod enrolment;
mod error;
mod kubeconfig;
mod pki;
mod serve;
mod setup;
mod signals;
mod telemetry;
mod text;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(error::Error::failed)
        .and_then(|runtime| runtime.block_on(command::run(cli.command)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
