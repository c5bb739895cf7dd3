//! The command line: every command and option, with its default and its unit. No behaviour.

mod access;
mod admission;
mod backup;
mod backup_schedule;
mod cel;
mod cluster;
mod features;
mod kubelets;
mod lifecycle;
mod members;
mod metrics;
mod moment;
mod node;
mod operator_step;
mod past;
mod policy;
mod query;
mod sizes;
mod tuning;
mod version;

use clap::{Parser, Subcommand};

pub(crate) use access::{Access, static_tokens};
pub(crate) use admission::Admission;
pub(crate) use backup::{Backup, BackupCreate, BackupPlace, BackupPrune, Fork, Inspect, Restore};
pub(crate) use backup_schedule::BackupFlags;
pub(crate) use cel::{Cel, CelEnvironment, Eval, Run};
pub(crate) use cluster::{ClusterFlags, NamespaceFlags};
pub(crate) use features::{Features, Switches};
pub(crate) use kubelets::Kubelets;
pub(crate) use lifecycle::deprecation_warnings;
pub(crate) use members::{Leader, Member, Token};
pub(crate) use metrics::MetricsFlags;
pub(crate) use moment::Moment;
pub(crate) use node::{ADVERTISE, Dev, Init, Join, MAX_FOUNDERS, PEER_ADVERTISE, Recover, Serve};
pub(crate) use operator_step::{FollowStep, OperatorStep, Pod, PodRole, SetupStep};
pub(crate) use past::{
    Blame, ChangeOutput, ClusterChanges, Diff, Get, History, ObjectOutput, Undelete,
};
pub(crate) use policy::{Policy, PolicyTest};
pub(crate) use query::{Kubeconfig, Output, Query, Status, StorageMigrate, Target};
pub(crate) use sizes::bytes;
pub(crate) use tuning::{Switch, Tuning};
pub(crate) use version::Version;

/// A cluster API server: the resource API on a replicated store, in one binary.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say nothing of options that are deprecated.
    #[arg(long, global = true)]
    pub(crate) no_deprecation_warnings: bool,
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
    /// Make a stopped node, whose quorum is lost for good, the only voter of a new cluster with its
    /// data.
    Recover(Recover),
    /// Back a cluster up; list, verify and prune backups.
    #[command(subcommand)]
    Backup(Backup),
    /// Make a new cluster of one node from a backup.
    Restore(Restore),
    /// Serve a throwaway cluster with the state of a backup or of a running cluster until Ctrl-C.
    Fork(Fork),
    /// Show what the data folder of a stopped node holds.
    Inspect(Inspect),
    /// Show the cluster as a node sees it.
    Status(Status),
    /// List, add, promote and remove members.
    #[command(subcommand)]
    Member(Member),
    /// Move the leadership.
    #[command(subcommand)]
    Leader(Leader),
    /// Steps of a pod: set its node up, look after it, take it out.
    #[command(subcommand)]
    OperatorStep(OperatorStep),
    /// Create, list and revoke join tokens.
    #[command(subcommand)]
    Token(Token),
    /// List, add and remove the keys that service account tokens are signed with.
    #[command(subcommand)]
    SigningKey(crate::command::Rotation),
    /// The authorities that sign certificates for requests: list, rotate, remove.
    #[command(subcommand)]
    SigningAuthority(crate::command::Rotation),
    /// Store all objects of a custom resource as its storage version.
    StorageMigrate(StorageMigrate),
    /// Show what decides about writes besides the server's own rules, and suspend a part of it.
    #[command(subcommand)]
    Admission(Admission),
    /// Rehearse admission policies.
    #[command(subcommand)]
    Policy(Policy),
    /// Show objects as they were.
    Get(Get),
    /// Show every version of an object: when, who, what changed.
    History(History),
    /// Show what differs between two moments.
    Diff(Diff),
    /// Show who gave each field of an object its value, and when.
    Blame(Blame),
    /// Show what happened in the cluster.
    Changes(ClusterChanges),
    /// Bring back what was deleted: an object, a namespace with all in it, a definition with its objects.
    Undelete(Undelete),
    /// Print a kubeconfig with a new client certificate.
    Kubeconfig(Kubeconfig),
    /// Evaluate expressions of the Common Expression Language, without a server.
    #[command(subcommand)]
    Cel(Cel),
    /// Measure a running cluster.
    Bench(crate::bench::Options),
    /// Print the version, the formats that this build writes and reads, and its feature gates.
    Version(Version),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
