//! `quorate backup`: backups of a running cluster, and what lies in a repository.

pub(super) mod cluster_source;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quorate_backup::{
    BackupError, BackupKey, Created, KEY_BYTES, Keep, Listed, Progress, Remote, RemoteOptions,
    Repository, Source, SourceError,
};
use quorate_env::Env;
use serde_json::json;

use self::cluster_source::ClusterSource;
use super::token::moment;
use crate::cli::{Backup, BackupCreate, BackupPlace, BackupPrune, Output};
use crate::error::{Error, at};
use crate::files::write_private;
use crate::pki::platform_roots;
use crate::terminal::{print_line, print_table, print_warning};

/// How often a backup is begun again after the server or the place did not answer.
const ATTEMPTS: u32 = 5;
/// The pause before the second attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Carries out one of the commands.
pub(crate) async fn run(command: Backup, env: &Env) -> Result<(), Error> {
    match command {
        Backup::Create(options) => create(&options, env).await,
        Backup::List { from, output } => list(&from, output, env).await,
        Backup::Verify { from } => verify(&from, env).await,
        Backup::Prune(options) => prune(&options, env).await,
        Backup::Key { file } => make_key(&file, env),
    }
}

impl From<BackupError> for Error {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Url { .. }
            | BackupError::NoRepository
            | BackupError::WrongKey
            | BackupError::OtherCluster { .. }
            | BackupError::Source(SourceError::Refused(_)) => Self::config(error),
            other => Self::failed(other),
        }
    }
}

/// Reads a key file.
pub(crate) fn read_key(path: &Path) -> Result<BackupKey, Error> {
    let bytes = std::fs::read(path)
        .map_err(|error| Error::config(format_args!("{}: {error}", path.display())))?;
    BackupKey::from_bytes(&bytes).ok_or_else(|| {
        Error::config(format_args!(
            "{} has {} bytes and a key has {KEY_BYTES}: quorate backup key makes one",
            path.display(),
            bytes.len()
        ))
    })
}

/// How places are reached from this process.
pub(crate) fn remote_options(env: &Env) -> RemoteOptions {
    RemoteOptions::new(env.network.clone(), platform_roots())
}

/// Opens a repository for reading.
pub(super) async fn open(from: &BackupPlace, env: &Env) -> Result<Repository, Error> {
    let key = read_key(&from.key_file)?;
    let remote = Remote::open(&from.from, &remote_options(env))?;
    Ok(Repository::open(remote, key, env.clock.clone(), env.entropy.clone()).await?)
}

fn make_key(file: &Path, env: &Env) -> Result<(), Error> {
    if file.exists() {
        return Err(Error::config(format_args!(
            "{} is there already: what it opens would be lost",
            file.display()
        )));
    }
    let key = BackupKey::generate(&*env.entropy);
    // A file name alone lies in the folder of the process.
    let file = std::path::absolute(file).map_err(at(file))?;
    write_private(&file, key.as_bytes())?;
    print_line(format_args!(
        "{} opens what is backed up with it; keep a copy elsewhere",
        file.display()
    ));
    Ok(())
}

async fn create(options: &BackupCreate, env: &Env) -> Result<(), Error> {
    let source = ClusterSource::open(&options.cluster, env).await?;
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        match attempt_to_create(options, &source, env).await {
            Ok(created) => {
                tell(&created);
                break;
            }
            Err(
                error @ (BackupError::Source(SourceError::Unavailable(_))
                | BackupError::Digest { .. }),
            ) if attempt < ATTEMPTS => {
                print_warning(format_args!("{error}; trying again in {pause:?}"));
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}

async fn attempt_to_create(
    options: &BackupCreate,
    source: &ClusterSource,
    env: &Env,
) -> Result<Created, BackupError> {
    let key = read_key(&options.key_file).map_err(|error| BackupError::Url {
        url: options.key_file.display().to_string(),
        reason: error.to_string(),
    })?;
    let identity = source.identity().await?;
    let credentials = match options.with_credentials {
        true => Some(source.credentials().await?),
        false => None,
    };
    let mut remote = remote_options(env);
    remote.bytes_per_second = options.bytes_per_second;
    let remote = Remote::open(&options.to, &remote)?;
    let seams = (env.clock.clone(), env.entropy.clone());
    let repository = Repository::open_for(remote, key, seams, &identity).await?;
    let bar = Arc::new(indicatif::ProgressBar::new(0));
    let shown = bar.clone();
    let progress = move |progress: &Progress| {
        shown.set_length(progress.total_bytes);
        shown.set_position(progress.bytes);
    };
    let base = !options.changes_only;
    let backup = quorate_backup::Backup {
        repository: &repository,
        source,
        credentials,
        base,
        progress: &progress,
    };
    let created = quorate_backup::create(backup).await;
    bar.finish_and_clear();
    created
}

fn tell(created: &Created) {
    if created.gap {
        print_warning(
            "the server no longer has all that happened since the backup before: that cannot be restored",
        );
    }
    if let Some(last) = created.changes {
        print_line(format_args!(
            "changes up to revision {last}, {} bytes stored",
            created.changes_bytes
        ));
    }
    if let Some((id, manifest, reused)) = &created.base {
        print_line(format_args!(
            "base {id} of revision {}: {} objects, {} bytes, {} bytes stored, {reused} parts of an interrupted run",
            manifest.revision,
            manifest.objects,
            manifest.bytes,
            manifest.stored_bytes()
        ));
    }
}

async fn list(from: &BackupPlace, output: Output, env: &Env) -> Result<(), Error> {
    let repository = open(from, env).await?;
    let Listed { bases, segments, bytes, .. } = repository.list().await?;
    let mut rows = Vec::new();
    for base in bases.iter().filter(|base| base.complete) {
        rows.push((base.id, repository.manifest(base.id).await?));
    }
    let based = rows.iter().map(|(id, _)| id.revision.get());
    let last = segments.iter().map(|segment| segment.last.get()).chain(based).max();
    let identity = repository.identity();
    match output {
        Output::Json => {
            let bases: serde_json::Value = rows
                .iter()
                .map(|(id, manifest)| {
                    json!({
                        "base": id.to_string(), "revision": manifest.revision.get(),
                        "time": moment(manifest.time_ms), "objects": manifest.objects,
                        "bytes": manifest.bytes, "storedBytes": manifest.stored_bytes(),
                        "credentials": manifest.credentials.is_some(),
                    })
                })
                .collect();
            print_line(format_args!(
                "{:#}",
                json!({
                    "cluster": identity.cluster, "naming": identity.naming, "bases": bases,
                    "segments": segments.len(), "lastRevision": last, "bytes": bytes,
                })
            ));
        }
        Output::Table => {
            let rows: Vec<_> = rows
                .iter()
                .map(|(id, manifest)| {
                    let credentials = manifest.credentials.is_some();
                    [
                        id.to_string(),
                        manifest.revision.to_string(),
                        moment(manifest.time_ms),
                        manifest.objects.to_string(),
                        manifest.stored_bytes().to_string(),
                        if credentials { "yes" } else { "no" }.to_owned(),
                    ]
                })
                .collect();
            print_table(["BASE", "REVISION", "TIME", "OBJECTS", "STORED", "CREDENTIALS"], &rows);
            let last =
                last.map_or_else(|| "none".to_owned(), |last| format!("up to revision {last}"));
            print_line(format_args!(
                "{} segments of changes, {last}; {bytes} bytes in all",
                segments.len()
            ));
        }
    }
    Ok(())
}

async fn verify(from: &BackupPlace, env: &Env) -> Result<(), Error> {
    let repository = open(from, env).await?;
    let verified = quorate_backup::verify(&repository).await?;
    print_line(format_args!(
        "{} objects of {} bytes read, {} bases restored, {} segments",
        verified.objects, verified.bytes, verified.bases, verified.segments
    ));
    for (from, to) in &verified.reach {
        print_line(format_args!("revisions {from} to {to} can be restored"));
    }
    if verified.unfinished > 0 {
        print_line(format_args!("{} bases are not finished and do not count", verified.unfinished));
    }
    for finding in &verified.findings {
        print_line(format_args!("DAMAGED {}: {}", finding.name, finding.damage));
    }
    match verified.findings.len() {
        0 => Ok(()),
        number => Err(Error::failed(format_args!("{number} objects are damaged or missing"))),
    }
}

async fn prune(options: &BackupPrune, env: &Env) -> Result<(), Error> {
    let repository = open(&options.from, env).await?;
    let keep = Keep {
        bases: usize::try_from(options.keep).unwrap_or(usize::MAX),
        age_ms: u64::try_from(options.keep_age.as_millis()).unwrap_or(u64::MAX),
    };
    let pruned = quorate_backup::prune(&repository, keep, !options.yes).await?;
    for base in &pruned.bases {
        print_line(format_args!("base {base}"));
    }
    print_line(format_args!(
        "{} bases of {} bytes and {} segments {}",
        pruned.bases.len(),
        pruned.bytes,
        pruned.segments,
        if options.yes { "are removed" } else { "would be removed. To carry it out, add --yes." }
    ));
    Ok(())
}
