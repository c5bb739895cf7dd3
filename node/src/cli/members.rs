//! Commands on the members of a cluster: roles, leadership, join tokens.

use std::time::Duration;

use clap::Subcommand;

use super::{Query, Target};

/// `quorate member`
#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// Every member with its role.
    List(Query),
    /// Keep a place, as a learner, for a node that joins from these addresses later.
    Add {
        /// Where other nodes will reach it.
        #[arg(long, value_name = "HOST:PORT")]
        peer_address: String,
        /// Where clients will reach it.
        #[arg(long, value_name = "HOST:PORT")]
        api_address: String,
        #[command(flatten)]
        target: Target,
    },
    /// Make a learner that has caught up a voter.
    Promote {
        /// Its number.
        node: u64,
        #[command(flatten)]
        target: Target,
    },
    /// Take a member out for good.
    Remove {
        /// Its number.
        node: u64,
        #[command(flatten)]
        target: Target,
    },
}

/// `quorate leader`
#[derive(Debug, Subcommand)]
pub(crate) enum Leader {
    /// Hand the leadership to another voter.
    Transfer {
        /// To this node [default: the voter that is closest].
        #[arg(long)]
        to: Option<u64>,
        #[command(flatten)]
        target: Target,
    },
}

/// `quorate token`
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and print the command that uses it.
    Create {
        /// How long it can be used.
        #[arg(long, default_value = "24h", value_parser = humantime::parse_duration)]
        ttl: Duration,
        /// What it is for, shown in the list.
        #[arg(long, default_value = "")]
        description: String,
        #[command(flatten)]
        query: Query,
    },
    /// Every token, without its secret.
    List(Query),
    /// Make a token useless.
    Revoke {
        /// The part before the dot.
        id: String,
        #[command(flatten)]
        target: Target,
    },
}
