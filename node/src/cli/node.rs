//! Commands on a node's data folder: make it, serve it, recover it.

use std::path::PathBuf;

use clap::Args;
use quorate_meta::Naming;

use super::Tuning;

/// `quorate dev`
#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Where everything is kept: made when it is not there.
    #[arg(long, default_value = "quorate-data")]
    pub(crate) data_dir: PathBuf,
    /// How many nodes [default: 1, or as many as the data folder has].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MAX_FOUNDERS))]
    pub(crate) nodes: Option<u64>,
    /// The naming profile [default: svc, or that of the data folder].
    #[arg(long, value_parser = naming)]
    pub(crate) naming: Option<Naming>,
    /// API address of the first node; the others follow port by port, peers 1000 ports above
    /// [default: 127.0.0.1:6443, or that of the data folder].
    #[arg(long)]
    pub(crate) bind: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
}

/// The option that says where clients find a node, as messages name it.
pub(crate) const ADVERTISE: &str = "--advertise";
/// The same for other nodes.
pub(crate) const PEER_ADVERTISE: &str = "--peer-advertise";
/// How many members vote from the start at most: more make every write slower and no cluster safer.
pub(crate) const MAX_FOUNDERS: u64 = 5;

/// Where a node listens and what it calls itself.
#[derive(Debug, Clone, Args)]
pub(crate) struct Addresses {
    /// Address for clients.
    #[arg(long, default_value = "0.0.0.0:6443", value_name = "HOST:PORT")]
    pub(crate) bind: String,
    /// Address that clients use [default: --bind].
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) advertise: Option<String>,
    /// Address for other nodes.
    #[arg(long, default_value = "0.0.0.0:7443", value_name = "HOST:PORT")]
    pub(crate) peer_bind: String,
    /// Address that other nodes use [default: --peer-bind].
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) peer_advertise: Option<String>,
}

/// `quorate init`
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The node's data folder; must be empty or absent.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    /// The naming profile.
    #[arg(long, default_value = "svc", value_parser = naming)]
    pub(crate) naming: Naming,
    /// Set up several first nodes at once, one on each of these hosts, in DIR/node-1, DIR/node-2,
    /// ...: the folders are then taken to their hosts. The ports are those of --bind and
    /// --peer-bind.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["advertise", "peer_advertise"])]
    pub(crate) founder: Vec<String>,
    /// Do nothing when the folder is set up already.
    #[arg(long)]
    pub(crate) if_needed: bool,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
}

/// `quorate join`
#[derive(Debug, Args)]
pub(crate) struct Join {
    /// Peer address of any member.
    #[arg(value_name = "HOST:PORT")]
    pub(crate) member: String,
    /// The node's data folder; must be empty or absent.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    /// A join token, id.secret.
    #[arg(
        long,
        env = "QUORATE_JOIN_TOKEN",
        hide_env_values = true,
        required_unless_present = "member_data_dir"
    )]
    pub(crate) token: Option<String>,
    /// Hash of the cluster's peer authority, sha256:HEX, as printed with the token.
    #[arg(long, required_unless_present = "member_data_dir")]
    pub(crate) ca_hash: Option<String>,
    /// Data folder of the member, which can be read from here: in place of token and hash.
    #[arg(long, value_name = "DIR", conflicts_with = "ca_hash")]
    pub(crate) member_data_dir: Option<PathBuf>,
    /// Do nothing when the folder is set up already.
    #[arg(long)]
    pub(crate) if_needed: bool,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
}

/// `quorate serve`
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The node's data folder.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Stop when standard input ends: set by `dev`, whose nodes must not outlive it.
    #[arg(long, hide = true)]
    pub(crate) supervised: bool,
}

/// `quorate recover`
#[derive(Debug, Args)]
pub(crate) struct Recover {
    /// The node's data folder. The node must be stopped.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    /// Carry it out; without this, only say what it would do.
    #[arg(long)]
    pub(crate) yes: bool,
}

pub(super) fn naming(text: &str) -> Result<Naming, String> {
    text.parse().map_err(|_| "must be 'svc' or 'kubernetes'".to_owned())
}
