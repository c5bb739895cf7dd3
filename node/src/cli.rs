//! The command line: every command and option, with its default and its unit. No behaviour.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use quorate_meta::Naming;

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
    /// Show the cluster as a node sees it.
    Status(Query),
    /// List, add, promote and remove members.
    #[command(subcommand)]
    Member(Member),
    /// Move the leadership.
    #[command(subcommand)]
    Leader(Leader),
    /// Create, list and revoke join tokens.
    #[command(subcommand)]
    Token(Token),
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
}

impl Tuning {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let Self { log_format, shutdown_delay_duration, history_duration, history_size, size_limit } = self;
        let duration = |duration: &Duration| humantime::format_duration(*duration).to_string();
        let format = log_format.to_possible_value().expect("no format is hidden");
        [
            ("log-format", format.get_name().to_owned()),
            ("shutdown-delay-duration", duration(shutdown_delay_duration)),
            ("history-duration", duration(history_duration)),
            ("history-size", history_size.to_string()),
            ("size-limit", size_limit.to_string()),
        ]
        .map(|(name, value)| format!("--{name}={value}"))
        .to_vec()
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

/// A number of bytes with an optional binary unit: `4096`, `64KiB`, `512MiB`, `8GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => return Err(format!("'{unit}' is no unit: use B, KiB, MiB or GiB")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("'{digits}' is not a whole number"))?;
    number.checked_mul(unit).ok_or_else(|| "the number is too large".to_owned())
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
        let given =
            ["--history-duration=90s", "--history-size=1MiB", "--log-format=json", "--shutdown-delay-duration=1500ms"];
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

    #[test]
    fn byte_sizes() {
        let check = |text, expect: Result<u64, &str>| assert_eq!(bytes(text), expect.map_err(str::to_owned));
        check("0", Ok(0));
        check("4096B", Ok(4096));
        check("3KiB", Ok(3 << 10));
        check("8GiB", Ok(8 << 30));
        check("8GB", Err("'GB' is no unit: use B, KiB, MiB or GiB"));
        check("-1", Err("'-1' is not a whole number"));
        check("99999999999GiB", Err("the number is too large"));
    }
}
