//! The command line: every command and option, with its default and its unit. No behaviour.

mod governance;
mod sizes;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use quorate_api::InFlightLimits;
use quorate_meta::Naming;

pub(crate) use governance::Governance;
pub(crate) use sizes::bytes;

use crate::access::Access;
use crate::audit::AuditOptions;
use crate::telemetry::LogFormat;

/// A cluster API server: the resource API on a replicated store, in one binary.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a cluster on this machine and serve it until Ctrl-C.
    Dev(Dev),
    /// Set up the first node of a new cluster.
    Init(Init),
    /// Set up a further node of an existing cluster.
    Join(Join),
    /// Serve the node of a data folder.
    Serve(Serve),
    /// Make a stopped node, whose quorum is lost for good, the only voter of a new cluster with its data.
    Recover(Recover),
    /// Show the cluster as a node sees it.
    Status(Status),
    /// List, add, promote and remove members.
    #[command(subcommand)]
    Member(Member),
    /// Move the leadership.
    #[command(subcommand)]
    Leader(Leader),
    /// Create, list and revoke join tokens.
    #[command(subcommand)]
    Token(Token),
    /// List, add and remove the keys that service account tokens are signed with.
    #[command(subcommand)]
    SigningKey(crate::command::Rotation),
    /// The authorities that sign certificates for requests: list, rotate, remove.
    #[command(subcommand)]
    SigningAuthority(crate::command::Rotation),
    /// Print a kubeconfig with a new client certificate.
    Kubeconfig(Kubeconfig),
    /// Measure a running cluster.
    Bench(crate::bench::Options),
    /// Print the version.
    Version,
}

/// `quorate dev`
#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Where everything is kept: made when it is not there.
    #[arg(long, default_value = "quorate-data")]
    pub(crate) data_dir: PathBuf,
    /// How many nodes [default: 1, or as many as the data folder has].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=9))]
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

/// Where a node listens and what it calls itself.
#[derive(Debug, Args)]
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
    /// Set up several first nodes at once, one on each of these hosts, in DIR/node-1, DIR/node-2, ...: the folders are
    /// then taken to their hosts. The ports are those of --bind and --peer-bind.
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
    #[arg(long, env = "QUORATE_JOIN_TOKEN", hide_env_values = true)]
    pub(crate) token: String,
    /// Hash of the cluster's peer authority, sha256:HEX, as printed with the token.
    #[arg(long)]
    pub(crate) ca_hash: String,
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

/// What an operator may tune from start to start.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Tuning {
    /// How log lines look.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// After SIGTERM, how long to go on serving while not ready.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) shutdown_delay_duration: Duration,
    /// How long past revisions stay readable.
    #[arg(long, default_value = "5m", value_parser = humantime::parse_duration)]
    pub(crate) history_duration: Duration,
    /// Bytes of history beyond which the oldest goes before its time.
    #[arg(long, default_value = "4GiB", value_parser = bytes)]
    pub(crate) history_size: u64,
    /// Bytes of keys and values at which only deletes pass.
    #[arg(long, default_value = "8GiB", value_parser = bytes)]
    pub(crate) size_limit: u64,
    /// Log entries after which the state is made durable, so that the log before can go. Bounds what a restart applies again.
    #[arg(long, default_value = "20000", value_name = "ENTRIES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) snapshot_every: u64,
    /// Log entries before that point that stay, for members that are a little behind. Who needs older ones gets a snapshot.
    #[arg(long, default_value = "50000", value_name = "ENTRIES")]
    pub(crate) log_keep: u64,
    /// Requests that only read and may run at one time; 0 is any number. Nobody gets more than half of them.
    #[arg(long, default_value_t = InFlightLimits::default().read_only)]
    pub(crate) max_requests_inflight: usize,
    /// Requests that write and may run at one time; 0 is any number.
    #[arg(long, default_value_t = InFlightLimits::default().mutating)]
    pub(crate) max_mutating_requests_inflight: usize,
    /// Watches that may be open at one time; 0 is any number.
    #[arg(long, default_value_t = InFlightLimits::default().long_running)]
    pub(crate) max_watches: usize,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) governance: Governance,
    #[command(flatten)]
    pub(crate) audit: AuditOptions,
}

impl Tuning {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let Self { log_format, shutdown_delay_duration, history_duration, history_size, size_limit, .. } = self;
        let duration = |duration: &Duration| humantime::format_duration(*duration).to_string();
        let format = log_format.to_possible_value().expect("no format is hidden");
        [
            ("log-format", format.get_name().to_owned()),
            ("shutdown-delay-duration", duration(shutdown_delay_duration)),
            ("history-duration", duration(history_duration)),
            ("history-size", history_size.to_string()),
            ("size-limit", size_limit.to_string()),
            ("snapshot-every", self.snapshot_every.to_string()),
            ("log-keep", self.log_keep.to_string()),
            ("max-requests-inflight", self.max_requests_inflight.to_string()),
            ("max-mutating-requests-inflight", self.max_mutating_requests_inflight.to_string()),
            ("max-watches", self.max_watches.to_string()),
        ]
        .map(|(name, value)| format!("--{name}={value}"))
        .into_iter()
        .chain(self.access.to_args())
        .chain(self.governance.to_args())
        .chain(self.audit.to_args())
        .collect()
    }
}

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
    #[command(flatten)]
    pub(crate) query: Query,
}

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

fn naming(text: &str) -> Result<Naming, String> {
    text.parse().map_err(|_| "must be 'svc' or 'kubernetes'".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn tuning_survives_the_way_to_another_process() {
        let given = [
            "--history-duration=90s",
            "--history-size=1MiB",
            "--log-format=json",
            "--shutdown-delay-duration=1500ms",
            "--snapshot-every=7",
            "--log-keep=9",
            "--feature-gates=ClusterTrustBundle=false",
        ];
        let parse = |arguments: Vec<String>| {
            let all = ["quorate", "serve", "--data-dir=d"].map(str::to_owned).into_iter().chain(arguments);
            let Command::Serve(serve) = Cli::try_parse_from(all).unwrap().command else { panic!("not serve") };
            serve.tuning
        };
        let tuning = parse(given.map(str::to_owned).to_vec());
        assert_eq!(tuning.history_duration, Duration::from_secs(90));
        assert_eq!(tuning.history_size, 1 << 20);
        assert_eq!(parse(tuning.to_args()), tuning);
    }
}
