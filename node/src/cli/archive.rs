//! Options of the commands on the archive as a whole.

use clap::{Args, Subcommand};

use super::cluster::ClusterFlags;

/// `quorate archive`
#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Delete older versions of an object from the past for good, at every member.
    Purge(ArchivePurge),
}

/// `quorate archive purge`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate archive purge secret token -n shop --reason 'token of a former provider' --dry-run
  quorate archive purge secret token -n shop --reason 'token of a former provider' --yes
  quorate archive purge secrets -n shop --all-in-namespace --reason 'moved to a vault' --yes

What lives now stays, and so does what comes later; of an object that is deleted every version goes. That there were versions, when
and by whom, stays known. The journal and the log keep the bytes for as long as they are kept; backups are not reached.")]
pub(crate) struct ArchivePurge {
    /// TYPE NAME or TYPE/NAME; with --all-in-namespace TYPE alone.
    #[arg(value_name = "TYPE [NAME]", required = true, num_args = 1..=2)]
    pub(crate) object: Vec<String>,
    /// All objects of the type in the namespace, those that are deleted too.
    #[arg(long)]
    pub(crate) all_in_namespace: bool,
    /// Why; kept with the record of the purge.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Do it: nothing brings the versions back.
    #[arg(long, required_unless_present = "dry_run")]
    pub(crate) yes: bool,
    /// Say how many versions would go.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Namespace [default: that of the context].
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}
