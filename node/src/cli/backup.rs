//! Commands on backups: make, list, verify, prune; restore and fork.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use quorate_backup::Target as Point;
use quorate_store::Revision;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cluster::ClusterFlags;
use super::node::Addresses;
use super::{Output, bytes};

/// `quorate backup`
#[derive(Debug, Subcommand)]
pub(crate) enum Backup {
    /// Back a running cluster up, while it is written to.
    Create(BackupCreate),
    /// Every base of a repository, and what can be restored.
    List {
        #[command(flatten)]
        from: BackupPlace,
        /// How the answer looks.
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// Read all of a repository, restore each base in memory, and name every damaged object.
    Verify {
        #[command(flatten)]
        from: BackupPlace,
    },
    /// Remove old bases, and the changes that no base needs.
    Prune(BackupPrune),
    /// Make a key file. With it and the repository every Secret can be read; without it nothing can be
    /// restored.
    Key {
        /// Where to write it; must not be there.
        file: PathBuf,
    },
}

/// `quorate backup create`
#[derive(Debug, Args)]
pub(crate) struct BackupCreate {
    /// The repository: a folder, file:///FOLDER, s3://BUCKET/PREFIX, gs://… or az://…; made where there
    /// is none.
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
    /// The key file of the repository.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: PathBuf,
    /// Only what has changed since the backup before.
    #[arg(long)]
    pub(crate) changes_only: bool,
    /// Also the secret that opens the keys of authorities and tokens: a restore can keep them then.
    #[arg(long)]
    pub(crate) with_credentials: bool,
    /// Bytes to write in a second at most [default: any number].
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "0")]
    pub(crate) bytes_per_second: u64,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Which repository is read.
#[derive(Debug, Clone, Args)]
pub(crate) struct BackupPlace {
    /// The repository.
    #[arg(long, value_name = "URL")]
    pub(crate) from: String,
    /// The key file of the repository.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: PathBuf,
}

/// `quorate backup prune`
#[derive(Debug, Args)]
pub(crate) struct BackupPrune {
    #[command(flatten)]
    pub(crate) from: BackupPlace,
    /// How many of the newest bases stay.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
    /// Bases that are younger stay besides.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) keep_age: Duration,
    /// Carry it out; without this, only say what would go.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `quorate restore`
#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub(crate) from: BackupPlace,
    /// The point: a time (RFC 3339) or a revision [default: the newest].
    #[arg(long, value_name = "TIME|REVISION", value_parser = point)]
    pub(crate) at: Option<Point>,
    /// The data folder of the new cluster's first node; must be empty or absent.
    #[arg(
        long,
        required_unless_present = "namespace",
        conflicts_with_all = ["namespace", "ClusterFlags"]
    )]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep the authorities, the keys of tokens and the join tokens of the old cluster; the backup must
    /// have been made with its credentials.
    #[arg(long, conflicts_with = "namespace")]
    pub(crate) keep_credentials: bool,
    /// Bring this namespace back into a running cluster, instead of making a new one: what is not there
    /// is created, what is there stays as it is.
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Put objects of the namespace that are there, and differ, back too; what came later stays.
    #[arg(long, requires = "namespace")]
    pub(crate) replace: bool,
    /// Carry the restore of a namespace out; without this, only say what it would do.
    #[arg(long, requires = "namespace")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) addresses: Addresses,
    /// The running cluster that a namespace comes back into.
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate fork`
#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The repository [default: the state of the running cluster].
    #[arg(long, value_name = "URL", requires = "key_file", conflicts_with = "ClusterFlags")]
    pub(crate) from: Option<String>,
    /// The key file of the repository.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub(crate) key_file: Option<PathBuf>,
    /// The point: a time (RFC 3339) or a revision [default: the newest].
    #[arg(long, value_name = "TIME|REVISION", value_parser = point, requires = "from")]
    pub(crate) at: Option<Point>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate inspect`
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The data folder of a stopped node.
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    /// How the answer looks.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

fn point(text: &str) -> Result<Point, String> {
    if let Ok(revision) = text.parse() {
        return Ok(Point::Revision(Revision::new(revision)));
    }
    let time = OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| "must be a revision or a time like 2026-11-28T12:00:00Z".to_owned())?;
    let ms = time.unix_timestamp_nanos() / 1_000_000;
    u64::try_from(ms).map(Point::Time).map_err(|_| "the time is before 1970".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_revisions_or_times() {
        let check =
            |text: &str, expect: Option<Point>| assert_eq!(point(text).ok(), expect, "{text}");
        check("77", Some(Point::Revision(Revision::new(77))));
        check("1970-01-01T00:00:01.5Z", Some(Point::Time(1500)));
        check("1970-01-01T01:00:00+01:00", Some(Point::Time(0)));
        check("1969-12-31T23:59:59Z", None);
        check("yesterday", None);
    }
}
