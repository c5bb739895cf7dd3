//! The backups that the leader makes: a base now and then, and what changes in between.
//!
//! Invariants: nothing else waits for it; a node that does not lead writes nothing, and a new leader
//! goes on where the repository ends; what fails is said once, counted, and tried again with growing
//! pauses; old bases go when a new one is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quorate_backup::{
    Backup, BackupError, Chain, Keep, Remote, Repository, SourceError, StoreSource, create, prune,
    write_changes,
};
use quorate_metrics::{CounterSeries, Registry};
use quorate_store::Store;
use tokio::time::sleep;

use super::Parts;
use super::backup_pages::source;
use crate::cli::BackupFlags;
use crate::command::backup::{read_key, remote_options};
use crate::error::Error;
use crate::log_once::LogOnce;

/// Between two writings of changes: what a lost cluster loses at most, and the writing itself.
const CHANGES_EVERY: Duration = Duration::from_secs(10);
/// The longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Backs up.
pub(super) struct BackupSchedule {
    parts: Arc<Parts>,
    flags: BackupFlags,
    to: String,
    store: Arc<dyn Store>,
    source: StoreSource,
    metrics: BackupMetrics,
}

/// What is counted of it.
struct BackupMetrics {
    failures: CounterSeries,
    bytes: CounterSeries,
    /// When a base was complete, and when the repository last had everything; milliseconds since the
    /// Unix epoch, 0 for never.
    base_ms: Arc<AtomicU64>,
    current_ms: Arc<AtomicU64>,
}

/// A repository that a leader writes to.
struct Running {
    repository: Repository,
    chain: Chain,
    base_ms: u64,
}

impl BackupMetrics {
    fn new(registry: &Registry, parts: &Parts) -> Self {
        let (base_ms, current_ms) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        for (name, value) in [
            ("quorate_backup_last_base_timestamp_seconds", base_ms.clone()),
            ("quorate_backup_last_success_timestamp_seconds", current_ms.clone()),
        ] {
            registry.observe(name, move |to| {
                let ms = value.load(Ordering::Relaxed);
                if ms > 0 {
                    to.add_count(&[], ms / 1000);
                }
            });
        }
        let (current, clock) = (current_ms.clone(), parts.env.clock.clone());
        registry.observe("quorate_backup_lag_seconds", move |to| {
            let ms = current.load(Ordering::Relaxed);
            if ms > 0 {
                to.add_count(&[], clock.now_ms().saturating_sub(ms) / 1000);
            }
        });
        Self {
            failures: registry.counter("quorate_backup_failures_total").with([]),
            bytes: registry.counter("quorate_backup_bytes_total").with([]),
            base_ms,
            current_ms,
        }
    }
}

impl BackupSchedule {
    /// The schedule of the options, if there is one; a key file that cannot be read is an error.
    pub(super) fn new(
        parts: &Arc<Parts>,
        flags: &BackupFlags,
        store: &Arc<dyn Store>,
        registry: &Registry,
    ) -> Result<Option<Self>, Error> {
        let metrics = BackupMetrics::new(registry, parts);
        let Some((to, key_file)) = flags.backup_to.clone().zip(flags.backup_key_file.as_ref())
        else {
            return Ok(None);
        };
        read_key(key_file)?;
        let source = source(parts, store);
        let (parts, flags, store) = (parts.clone(), flags.clone(), store.clone());
        Ok(Some(Self { parts, flags, to, store, source, metrics }))
    }

    /// Runs for as long as the node does.
    pub(super) async fn run(self) {
        let (mut running, mut log_once, mut failed) = (None, LogOnce::default(), 0);
        loop {
            sleep(pause(failed)).await;
            let status = self.store.status();
            if status.leader != Some(status.node) {
                (running, failed) = (None, 0);
                // What this node knew is old: the leader has the figures.
                self.metrics.current_ms.store(0, Ordering::Relaxed);
                self.metrics.base_ms.store(0, Ordering::Relaxed);
                continue;
            }
            let round = self.round(&mut running).await;
            if let Some(error) = log_once.new_error(&round) {
                tracing::warn!(error, to = self.to, "cannot back the cluster up; trying again");
            }
            match round {
                Ok(()) => failed = 0,
                Err(_) => {
                    self.metrics.failures.inc();
                    (running, failed) = (None, failed + 1);
                }
            }
        }
    }

    async fn round(&self, running: &mut Option<Running>) -> Result<(), Error> {
        let now = self.parts.env.clock.now_ms();
        if running.is_none() {
            *running = self.begin().await?;
        }
        let every = u64::try_from(self.flags.backup_every.as_millis()).unwrap_or(u64::MAX);
        if let Some(open) = running
            && now < open.base_ms.saturating_add(every)
        {
            match write_changes(&open.repository, &self.source, &mut open.chain).await {
                Ok(bytes) => {
                    self.metrics.bytes.add(bytes);
                    self.metrics.current_ms.store(now, Ordering::Relaxed);
                    return Ok(());
                }
                Err(BackupError::Source(SourceError::Gone)) => {}
                Err(other) => return Err(other.into()),
            }
        }
        *running = Some(self.base(now).await?);
        Ok(())
    }

    /// Goes on where a repository with a base ends.
    async fn begin(&self) -> Result<Option<Running>, Error> {
        let repository = self.open().await?;
        let Some(chain) = Chain::end_of(&repository).await? else { return Ok(None) };
        let listed = repository.list().await?;
        let Some(base) = listed.bases.iter().rfind(|base| base.complete) else { return Ok(None) };
        let base_ms = repository.manifest(base.id).await?.time_ms;
        self.metrics.base_ms.store(base_ms, Ordering::Relaxed);
        Ok(Some(Running { repository, chain, base_ms }))
    }

    /// Writes a base, and removes those that are too many.
    async fn base(&self, now: u64) -> Result<Running, Error> {
        let repository = self.open().await?;
        let credentials = self.source.credentials.clone();
        let credentials = credentials.filter(|_| self.flags.backup_with_credentials);
        let (source, progress) = (&self.source, &|_: &quorate_backup::Progress| {});
        let backup = Backup { repository: &repository, source, credentials, base: true, progress };
        let created = create(backup).await?;
        let stored = created.base.as_ref().map_or(0, |(_, manifest, _)| manifest.stored_bytes());
        self.metrics.bytes.add(stored + created.changes_bytes);
        self.metrics.base_ms.store(now, Ordering::Relaxed);
        self.metrics.current_ms.store(now, Ordering::Relaxed);
        if let Some((base, manifest, _)) = &created.base {
            let (objects, bytes) = (manifest.objects, stored);
            tracing::info!(%base, objects, bytes, gap = created.gap, "a base of the backup is written");
        }
        let bases = usize::try_from(self.flags.backup_keep).unwrap_or(usize::MAX);
        prune(&repository, Keep { bases, age_ms: 0 }, false).await?;
        let chain = Chain::end_of(&repository).await?;
        let chain = chain.ok_or_else(|| Error::failed("the base that was written is not there"))?;
        Ok(Running { repository, chain, base_ms: now })
    }

    async fn open(&self) -> Result<Repository, Error> {
        let file = self.flags.backup_key_file.as_ref();
        let key = read_key(file.ok_or_else(|| Error::config("--backup-key-file is missing"))?)?;
        let remote = Remote::open(&self.to, &remote_options(&self.parts.env))?;
        let seams = (self.parts.env.clock.clone(), self.parts.env.entropy.clone());
        Ok(Repository::open_for(remote, key, seams, &self.source.identity).await?)
    }
}

/// Before the next round, after so many failures.
fn pause(failed: u32) -> Duration {
    CHANGES_EVERY.saturating_mul(1 << failed.min(8)).min(LONGEST_PAUSE)
}
