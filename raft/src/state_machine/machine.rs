//! The state machine as openraft drives it.
//!
//! Invariants: the order of every change is saver, then history bounds, then serving form, then answers: whoever is told an outcome
//! finds it served. Whatever is handed out as a snapshot is saved and synced first, so that openraft only purges log entries whose
//! effect survives a machine crash.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::{Stream, TryStreamExt};
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::{OptionalSend, RaftSnapshotBuilder};
use quorate_store::env::blocking;
use quorate_store::{Retention, Serving, ServingOptions};

use super::database::{Database, Generation};
use super::error::{OpenError, invalid};
use super::group::{Group, Live};
use super::history::DiskHistory;
use super::load::{Loaded, load};
use super::options::{Identity, Options};
use super::progress::Position;
use super::saver::Saver;
use super::snapshot::{Contents, Outgoing, Snapshot, SnapshotData, SnapshotReceiver};
use crate::disk::Fatal;
use crate::types::{LogId, Response, SnapshotMeta, StoredMembership, TypeConfig};

/// One member's replicated state: on disk, and in memory as it is served.
pub struct StateMachine {
    database: Arc<Database>,
    identity: Arc<Identity>,
    retention: Retention,
    generation: Generation,
    live: Live,
    history: Arc<DiskHistory>,
    serving: Serving,
    saver: Saver,
    alarm: Alarm,
}

impl StateMachine {
    /// Opens or creates the database, loads it into memory and checks it. Blocks: about a second for a gigabyte.
    ///
    /// # Errors
    /// Any [`OpenError`]: each names the folder and what is wrong.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        let (database, generation) = Database::open(options)?;
        let database = Arc::new(database);
        let Loaded { live, recent } = load(&database, &generation, options.warm_bytes)?;
        let alarm = Alarm { fatal: options.fatal.clone(), directory: options.directory.clone() };
        let saver = Saver::start(options, Arc::clone(&database), generation.clone(), &live, alarm.clone())
            .map_err(|error| OpenError::Io { directory: options.directory.clone(), error })?;
        let progress = &live.position.progress;
        let bounds = (progress.oldest, progress.revision);
        let history = Arc::new(DiskHistory::new(generation.history.clone(), bounds, saver.shared()));
        let serving = Serving::new(live.state.snapshot(), recent, history.clone(), ServingOptions::default());
        Ok(Self {
            alarm,
            saver,
            database,
            identity: Arc::new(options.identity.clone()),
            retention: options.retention,
            generation,
            live,
            history,
            serving,
        })
    }

    /// What reads and watches are served from. Stays valid while the state machine lives inside openraft.
    #[must_use]
    pub fn serving(&self) -> Serving {
        self.serving.clone()
    }

    /// Where the peer RPC puts snapshots that come from the leader.
    #[must_use]
    pub fn receiver(&self) -> SnapshotReceiver {
        let (database, identity) = (Arc::clone(&self.database), Arc::clone(&self.identity));
        SnapshotReceiver { database, identity, alarm: self.alarm.clone() }
    }

    /// How far it has applied, and what the state amounts to: equal on members that have applied the same entry.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.live.position
    }

    /// Reports the database's size, from anywhere.
    #[must_use]
    pub fn disk_usage(&self) -> DiskUsage {
        DiskUsage { database: Arc::clone(&self.database) }
    }

    /// A gap would be a silent loss, whoever made it.
    fn check_next(&self, next: LogId) -> io::Result<()> {
        match self.live.position.progress.log_id {
            Some(last) if next.index != last.index + 1 => {
                Err(invalid(format_args!("entry {} cannot be applied after entry {}", next.index, last.index)))
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self, group: Group) -> io::Result<()> {
        let batches = group.batches().to_vec();
        self.saver.take(group, &self.live)?;
        if !batches.is_empty() {
            self.history.advance(self.live.window.oldest(), self.live.state.revision());
            self.serving.publish(self.live.state.snapshot(), &batches);
        }
        Ok(())
    }

    fn builder(&self) -> SnapshotBuilder {
        let saved = blocking(|| self.saver.save());
        SnapshotBuilder {
            saved: Some(saved),
            database: Arc::clone(&self.database),
            identity: Arc::clone(&self.identity),
            generation: self.generation.clone(),
            view: self.database.view(),
            position: self.live.position.clone(),
            alarm: self.alarm.clone(),
        }
    }

    async fn apply_all<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<TypeConfig>>> + Unpin + OptionalSend,
    {
        let mut group = Group::default();
        let mut answers = Vec::new();
        loop {
            let next = entries.try_next().await?;
            let over = next.is_none();
            if let Some((entry, responder)) = next {
                self.check_next(entry.log_id)?;
                let response = group.decide(&mut self.live, self.retention, entry);
                answers.extend(responder.map(|responder| (responder, response)));
            }
            if group.is_full() || (over && !group.is_empty()) {
                self.commit(std::mem::take(&mut group))?;
                answers.drain(..).for_each(|(responder, response): (_, Response)| responder.send(response));
            }
            if over {
                return Ok(());
            }
        }
    }

    fn install(&mut self, meta: &SnapshotMeta, snapshot: SnapshotData) -> io::Result<()> {
        let Contents::Received(received) = snapshot.contents else {
            return Err(invalid("only a received snapshot can be installed"));
        };
        if meta.last_log_id != received.position.progress.log_id {
            return Err(invalid("a snapshot is announced at another entry than its data is"));
        }
        // Whoever reads the history of before must find all of it until the bounds say that it is gone.
        blocking(|| self.saver.save())?;
        let (generation, live) = blocking(|| self.saver.replace(|| received.install()))?;
        let replaced = std::mem::replace(&mut self.generation, generation);
        self.live = live;
        let (oldest, revision) = (self.live.window.oldest(), self.live.state.revision());
        self.history.replace(self.generation.history.clone(), oldest, revision);
        self.serving.reset(self.live.state.snapshot());
        self.database.remove(replaced);
        tracing::info!(%revision, objects = self.live.state.len(), "installed a snapshot");
        Ok(())
    }
}

/// Tells the operator why the state cannot go on.
#[derive(Clone)]
pub(super) struct Alarm {
    fatal: Fatal,
    directory: PathBuf,
}

impl Alarm {
    /// Passes the result on.
    pub(super) fn watch<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| self.raise(error))
    }

    /// The state has failed: the database takes nothing any more.
    pub(super) fn raise(&self, error: &io::Error) {
        self.fatal.report(format!("cannot go on with the state in {}: {error}", self.directory.display()));
    }
}

impl RaftStateMachine<TypeConfig> for StateMachine {
    type SnapshotData = SnapshotData;
    type SnapshotBuilder = SnapshotBuilder;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        Ok((self.live.position.progress.log_id, self.live.position.membership.clone()))
    }

    async fn apply<S>(&mut self, entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<TypeConfig>>> + Unpin + OptionalSend,
    {
        let applied = self.apply_all(entries).await;
        self.alarm.watch(applied)
    }

    async fn get_snapshot_builder(&mut self) -> Self::SnapshotBuilder {
        self.builder()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, snapshot: SnapshotData) -> io::Result<()> {
        let installed = self.install(meta, snapshot);
        self.alarm.watch(installed)
    }

    /// Always of now: keeping an older view open would keep every version since on disk.
    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        if self.live.position.progress.log_id.is_none() {
            return Ok(None);
        }
        self.builder().build_snapshot().await.map(Some)
    }
}

/// Knows how large the database is. Cheap to clone.
#[derive(Clone)]
pub struct DiskUsage {
    database: Arc<Database>,
}

impl DiskUsage {
    /// Bytes on disk: objects, history, journals, and what is not compacted yet. Does no IO to speak of.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.database.disk_bytes()
    }
}

/// A view of the state at one applied entry, on its way to become a snapshot.
pub struct SnapshotBuilder {
    /// Whether the view has everything up to the position; said once.
    saved: Option<io::Result<()>>,
    database: Arc<Database>,
    identity: Arc<Identity>,
    generation: Generation,
    view: fjall::Snapshot,
    position: Position,
    alarm: Alarm,
}

impl RaftSnapshotBuilder<TypeConfig> for SnapshotBuilder {
    type SnapshotData = SnapshotData;

    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        self.saved.take().unwrap_or(Ok(()))?;
        self.alarm.watch(blocking(|| self.database.persist()))?;
        let meta = SnapshotMeta {
            last_log_id: self.position.progress.log_id,
            last_membership: self.position.membership.clone(),
        };
        let outgoing = Outgoing::new(self.view.clone(), self.generation.clone(), &self.identity, self.position.clone());
        Ok(Snapshot { meta, snapshot: SnapshotData { contents: Contents::Outgoing(Box::new(outgoing)) } })
    }
}
