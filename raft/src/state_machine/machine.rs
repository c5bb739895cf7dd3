//! The state machine as openraft drives it.
//!
//! Invariants: the order of every change is saver, then history bounds, then serving form, then
//! answers: a client that is answered finds its outcome served. Everything that is given out as a
//! snapshot is saved and synced first, so that openraft only purges log entries whose effect
//! survives a machine crash.

use std::io;
use std::sync::Arc;

use futures::{Stream, TryStreamExt};
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::{OptionalSend, RaftSnapshotBuilder};
use quorate_env::blocking;
use quorate_store::{Retention, Serving};
use tokio::time::Instant;

use super::error::{StateOpenError, invalid};
use super::failure::FailureReport;
use super::folder::Folder;
use super::group::{Group, Live};
use super::history::DiskHistory;
use super::hold::HistoryHold;
use super::journal::Journal;
use super::journal_frame::JournalFrame;
use super::load::{Loaded, load};
use super::options::{StateIdentity, StateMachineOptions};
use super::progress::Position;
use super::saver::Saver;
use super::snapshot::{Contents, Outgoing, Snapshot, SnapshotData, SnapshotReceiver};
use crate::types::{ApplyTimes, LogId, Response, SnapshotMeta, StoredMembership, TypeConfig};

/// One member's replicated state: on disk, and in memory as it is served.
pub struct StateMachine {
    identity: Arc<StateIdentity>,
    retention: Retention,
    segment_bytes: u64,
    journal: Arc<Journal>,
    live: Live,
    history: Arc<DiskHistory>,
    serving: Serving,
    saver: Saver,
    failures: FailureReport,
}

impl StateMachine {
    /// Opens or makes the folder, loads what is in it into memory and checks it. Blocks: about a
    /// second for a gigabyte.
    ///
    /// # Errors
    /// Any [`StateOpenError`]: each names the folder and what is wrong.
    pub fn open(options: &StateMachineOptions) -> Result<Self, StateOpenError> {
        let Loaded { journal, live, recent } = load(options)?;
        let failures = FailureReport::new(options.fatal.clone(), options.directory.clone());
        let hold = Arc::new(HistoryHold::new(options.held_bytes));
        let target = (Arc::clone(&journal), Arc::clone(&hold));
        let saver = Saver::start(options, target, &live, failures.clone())
            .map_err(|error| StateOpenError::Io { directory: options.directory.clone(), error })?;
        let progress = &live.position.progress;
        let bounds = (progress.oldest, progress.revision);
        let history =
            Arc::new(DiskHistory::new(Arc::clone(&journal), bounds, saver.shared(), hold));
        let serving = Serving::new(live.state.snapshot(), recent, history.clone(), options.serving);
        Ok(Self {
            failures,
            saver,
            identity: Arc::new(options.identity.clone()),
            retention: options.retention,
            segment_bytes: options.segment_bytes,
            journal,
            live,
            history,
            serving,
        })
    }

    /// What reads and watches are served from. Stays valid while the state machine lives inside
    /// openraft.
    #[must_use]
    pub fn serving(&self) -> Serving {
        self.serving.clone()
    }

    /// Where the peer RPC puts snapshots that come from the leader.
    #[must_use]
    pub fn receiver(&self) -> SnapshotReceiver {
        let (folder, identity) = (Arc::clone(self.journal.folder()), Arc::clone(&self.identity));
        SnapshotReceiver {
            folder,
            identity,
            segment_bytes: self.segment_bytes,
            failures: self.failures.clone(),
        }
    }

    /// How far it has applied, and what the state amounts to: equal on members that have applied
    /// the same entry.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.live.position
    }

    /// Reports how large it is on disk, from anywhere.
    #[must_use]
    pub fn disk_usage(&self) -> DiskUsage {
        DiskUsage { folder: Arc::clone(self.journal.folder()) }
    }

    /// A gap would be a silent loss, whatever its cause.
    fn check_next(&self, next: LogId) -> io::Result<()> {
        match self.live.position.progress.log_id {
            Some(last) if next.index != last.index + 1 => Err(invalid(format_args!(
                "entry {} cannot be applied after entry {}",
                next.index, last.index
            ))),
            _ => Ok(()),
        }
    }

    fn commit(&mut self, group: Group) -> io::Result<()> {
        let (batches, state) = (group.batches().to_vec(), self.live.state.snapshot());
        self.saver.take(group, &self.live, state.clone())?;
        if !batches.is_empty() {
            self.history.advance(self.live.window.oldest(), self.live.state.revision());
            self.serving.publish(state, &batches);
        }
        Ok(())
    }

    fn builder(&self) -> SnapshotBuilder {
        let saved = blocking(|| self.saver.save());
        let progress = &self.live.position.progress;
        SnapshotBuilder {
            saved: Some(saved),
            history: self.journal.frames_between(progress.oldest, progress.revision),
            journal: Arc::clone(&self.journal),
            identity: Arc::clone(&self.identity),
            state: self.live.state.snapshot(),
            position: self.live.position.clone(),
            failures: self.failures.clone(),
        }
    }

    async fn apply_all<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<TypeConfig>>> + Unpin + OptionalSend,
    {
        let mut group = Group::default();
        let (mut answers, mut begun) = (Vec::new(), None);
        loop {
            let next = entries.try_next().await?;
            let over = next.is_none();
            if let Some((entry, responder)) = next {
                self.check_next(entry.log_id)?;
                begun.get_or_insert_with(Instant::now);
                let response = group.decide(&mut self.live, self.retention, entry);
                answers.extend(responder.map(|responder| (responder, response)));
            }
            if group.is_full() || (over && !group.is_empty()) {
                self.commit(std::mem::take(&mut group))?;
                let applied = begun.take().map(|begun| ApplyTimes { begun, ended: Instant::now() });
                answers.drain(..).for_each(|(responder, response): (_, Response)| {
                    responder.send(Response { applied, ..response });
                });
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
        // Readers of the old history must find all of it until the bounds say that it is gone.
        blocking(|| self.saver.save())?;
        let (journal, live) = blocking(|| self.saver.replace(|| received.install()))?;
        let replaced = std::mem::replace(&mut self.journal, journal);
        self.live = live;
        let (oldest, revision) = (self.live.window.oldest(), self.live.state.revision());
        self.history.replace(Arc::clone(&self.journal), oldest, revision);
        self.serving.reset(self.live.state.snapshot());
        self.journal.folder().remove_generation(replaced.generation());
        tracing::info!(%revision, objects = self.live.state.len(), "installed a snapshot");
        Ok(())
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
        self.failures.watch(applied)
    }

    async fn get_snapshot_builder(&mut self) -> Self::SnapshotBuilder {
        self.builder()
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: SnapshotData,
    ) -> io::Result<()> {
        let installed = self.install(meta, snapshot);
        self.failures.watch(installed)
    }

    /// Always of now: keeping an older one would keep every version since in memory.
    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        if self.live.position.progress.log_id.is_none() {
            return Ok(None);
        }
        self.builder().build_snapshot().await.map(Some)
    }
}

/// Knows how large the state is on disk. Cheap to clone.
#[derive(Clone)]
pub struct DiskUsage {
    folder: Arc<Folder>,
}

impl DiskUsage {
    /// Bytes on disk: the journal and the checkpoints. Does no IO.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.folder.bytes()
    }
}

/// The state at one applied entry, on its way to become a snapshot.
pub struct SnapshotBuilder {
    /// Whether the journal has everything up to the position; said once.
    saved: Option<io::Result<()>>,
    journal: Arc<Journal>,
    identity: Arc<StateIdentity>,
    state: quorate_store::Snapshot,
    history: Vec<JournalFrame>,
    position: Position,
    failures: FailureReport,
}

impl RaftSnapshotBuilder<TypeConfig> for SnapshotBuilder {
    type SnapshotData = SnapshotData;

    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        self.saved.take().unwrap_or(Ok(()))?;
        self.failures.watch(blocking(|| self.journal.persist()))?;
        let meta = SnapshotMeta {
            last_log_id: self.position.progress.log_id,
            last_membership: self.position.membership.clone(),
        };
        let outgoing = Outgoing::new(
            self.state.clone(),
            self.history.clone(),
            &self.identity,
            self.position.clone(),
        );
        Ok(Snapshot {
            meta,
            snapshot: SnapshotData { contents: Contents::Outgoing(Box::new(outgoing)) },
        })
    }
}
