//! Options of the backups that the server makes by itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Where and how often the leader backs the cluster up.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Backups")]
pub(crate) struct BackupFlags {
    /// Back the cluster up here, all the time: a folder that every node reaches, file:///FOLDER,
    /// s3://BUCKET/PREFIX, gs://… or az://….
    #[arg(long, value_name = "URL", requires = "backup_key_file")]
    pub(crate) backup_to: Option<String>,
    /// The key file of the repository, the same on every node.
    #[arg(long, value_name = "FILE", requires = "backup_to")]
    pub(crate) backup_key_file: Option<PathBuf>,
    /// How often a base is written; changes are written all the time.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = humantime::parse_duration)]
    pub(crate) backup_every: Duration,
    /// How many bases are kept.
    #[arg(long, value_name = "BASES", default_value = "7", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) backup_keep: u64,
    /// Also keep the secret that opens the keys of authorities and tokens, so that a restore can keep
    /// them.
    #[arg(long)]
    pub(crate) backup_with_credentials: bool,
}

impl BackupFlags {
    /// The same as command-line arguments, for the processes that `dev` starts.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let Self { backup_to, backup_key_file, backup_every, backup_keep, .. } = self;
        let to = backup_to.iter().map(|to| format!("--backup-to={to}"));
        let key = backup_key_file.iter().map(|key| format!("--backup-key-file={}", key.display()));
        let every = humantime::format_duration(*backup_every);
        let credentials = self.backup_with_credentials;
        to.chain(key)
            .chain([format!("--backup-every={every}"), format!("--backup-keep={backup_keep}")])
            .chain(credentials.then(|| "--backup-with-credentials".to_owned()))
            .collect()
    }
}
