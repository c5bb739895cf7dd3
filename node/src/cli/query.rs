//! Options of commands that ask a running node: which node, and in which form they print the
//! answer.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// How a command that talks to a node finds it, and how it answers.
#[derive(Debug, Args)]
pub(crate) struct Query {
    #[command(flatten)]
    pub(crate) target: Target,
    /// How the answer looks.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// The node that a command talks to.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Data folder of a running node on this machine.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
}

/// How an answer looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// `quorate status`
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Fail unless the node can carry out a consistent read now: for health checks.
    #[arg(long)]
    pub(crate) ready: bool,
    /// Wait for that as long, in place of failing at once: after a start.
    #[arg(
        long,
        value_name = "DURATION",
        requires = "ready",
        default_value = "0s",
        value_parser = humantime::parse_duration
    )]
    pub(crate) wait: Duration,
    #[command(flatten)]
    pub(crate) query: Query,
}

/// `quorate storage-migrate`
#[derive(Debug, Args)]
pub(crate) struct StorageMigrate {
    /// The definition, PLURAL.GROUP.
    #[arg(value_name = "DEFINITION")]
    pub(crate) definition: String,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// `quorate kubeconfig`
#[derive(Debug, Args)]
pub(crate) struct Kubeconfig {
    #[command(flatten)]
    pub(crate) target: Target,
    /// User name in the certificate.
    #[arg(long, default_value = "admin")]
    pub(crate) user: String,
    /// Group in the certificate; may be empty.
    #[arg(long, default_value = "system:masters")]
    pub(crate) group: String,
    /// Server to name [default: the node's advertised address].
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}
