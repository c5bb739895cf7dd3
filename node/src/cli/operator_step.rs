//! Options of `quorate operator-step`, which a pod's containers call: who the pod is, where its registration
//! is, and where it listens.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use quorate_meta::Naming;

use super::node::{Addresses, naming};

/// `quorate operator-step`
#[derive(Debug, Subcommand)]
pub(crate) enum OperatorStep {
    /// Before the node starts: found the cluster, or join it.
    Setup(SetupStep),
    /// Beside the node: let it vote, keep the join token fresh, take over renewed certificates.
    Follow(FollowStep),
    /// Before the pod of a voter stops: leave the cluster, if the set is scaled down below it.
    Leave(Pod),
}

/// `quorate operator-step setup`
#[derive(Debug, Args)]
pub(crate) struct SetupStep {
    #[command(flatten)]
    pub(crate) pod: Pod,
    /// The naming profile of a new cluster.
    #[arg(long, default_value = "svc", value_parser = naming)]
    pub(crate) naming: Naming,
    /// How long to wait for the cluster and for a member that answers.
    #[arg(long, default_value = "5m", value_parser = humantime::parse_duration)]
    pub(crate) wait: Duration,
    /// After the founding was claimed, how long members of an older cluster have to object. Longer than
    /// the --interval of their follow step.
    #[arg(long, default_value = "15s", value_parser = humantime::parse_duration)]
    pub(crate) objection_time: Duration,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
}

/// `quorate operator-step follow`
#[derive(Debug, Args)]
pub(crate) struct FollowStep {
    #[command(flatten)]
    pub(crate) pod: Pod,
    /// How often to look.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) interval: Duration,
    /// Labels of the pods of API nodes: the leader removes the nodes of those that are gone.
    #[arg(long, value_name = "LABELS")]
    pub(crate) api_pods: Option<String>,
    /// How long such a pod has been gone then.
    #[arg(long, default_value = "10m", value_parser = humantime::parse_duration)]
    pub(crate) forget_after: Duration,
}

/// A pod, and what it needs of the cluster that it runs in.
#[derive(Debug, Args)]
pub(crate) struct Pod {
    /// The node's data folder.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    /// Name of the pod.
    #[arg(long, env = "POD_NAME")]
    pub(crate) pod: String,
    /// Its namespace.
    #[arg(long, env = "POD_NAMESPACE")]
    pub(crate) namespace: String,
    /// What the node is to the cluster.
    #[arg(long, value_enum)]
    pub(crate) role: PodRole,
    /// Secret in which the founding of the cluster and its join token are kept.
    #[arg(long, value_name = "NAME")]
    pub(crate) registration: String,
    /// Peer address of a voter; given once for each.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) peer: Vec<String>,
    /// Folder with tls.crt and tls.key, of another authority, to serve with.
    #[arg(long, value_name = "DIR")]
    pub(crate) server_certificate: Option<PathBuf>,
    /// API of the cluster that the pod runs in.
    #[arg(long, value_name = "HOST:PORT", default_value = "kubernetes.default.svc:443")]
    pub(crate) host_api: String,
    /// Folder with token and ca.crt for that API.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount"
    )]
    pub(crate) host_credentials: PathBuf,
}

/// What the node of a pod is to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PodRole {
    /// A member of the quorum; its disk is kept.
    Voter,
    /// A learner that serves the API; its disk goes with the pod.
    Api,
}
