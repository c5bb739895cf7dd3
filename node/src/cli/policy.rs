//! `quorate policy`: admission policies before they are in force.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::Query;

/// `quorate policy`
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Show which recorded writes and which objects a policy would have refused, changed or warned of.
    /// Nothing is enforced.
    Test(PolicyTest),
}

/// `quorate policy test`
#[derive(Debug, Args)]
pub(crate) struct PolicyTest {
    /// The policies, in YAML or JSON, perhaps with their bindings.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) policies: Vec<PathBuf>,
    /// Bindings; a policy without one is bound to everything that it matches, with the action Deny.
    #[arg(long, value_name = "FILE")]
    pub(crate) binding: Vec<PathBuf>,
    /// How far back recorded writes are looked at, with those who made them, as far as the archive
    /// reaches [default: all].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) since: Option<Duration>,
    /// Examples of each kind of finding that are shown.
    #[arg(long, default_value_t = 3)]
    pub(crate) examples: usize,
    #[command(flatten)]
    pub(crate) query: Query,
}
