//! The saver: applied changes on their way to disk wait in memory, are put together, and written as
//! one frame (write-behind).
//!
//! The log is what makes an entry durable, so answers, reads and watches do not wait for a save.
//! What is lost in a crash is applied again from the log, which keeps every entry until a snapshot
//! has had everything before it saved and synced.
//!
//! Invariants: what waits and what is saved make up the applied state without a gap, at any moment;
//! saves happen one at a time and in order, each with its position; at most [`MAX_UNSAVED_BYTES`]
//! and one group wait, then the applier does. After the first failure nothing is saved any more and
//! the applier is told.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use quorate_env::blocking;
use quorate_env::disk::{Disk, SystemDisk};
use quorate_store::{Batch, Revision, Snapshot};

use super::checkpoint::Checkpoint;
use super::checkpoint_runner::CheckpointRunner;
use super::failure::FailureReport;
use super::group::{Group, Live};
use super::hold::HistoryHold;
use super::journal::Journal;
use super::options::{Saving, StateMachineOptions};
use super::progress::Position;

/// How long changes wait for others to be written with them.
const SAVE_PERIOD: Duration = Duration::from_millis(100);
/// Bytes of changes that are written without waiting for more.
const SAVE_BYTES: usize = 2 << 20;
/// Bytes of changes beyond which the applier waits for the disk.
const MAX_UNSAVED_BYTES: usize = 16 << 20;

/// The applier's end. Dropping it ends the thread, after a last save.
pub(super) struct Saver {
    shared: Arc<SaverShared>,
    saving: Saving,
    ended: Arc<EndFlag>,
}

/// What the applier, the thread, and readers of the newest history share.
pub(super) struct SaverShared {
    waiting: Mutex<UnsavedChanges>,
    /// Notified when the thread has something to do.
    work: Condvar,
    /// Notified when a save is over.
    saved: Condvar,
    /// Where to. Held during a save.
    target: Mutex<Arc<Journal>>,
    hold: Arc<HistoryHold>,
    checkpointing: CheckpointRunner,
    failures: FailureReport,
}

/// What is not on disk yet.
#[derive(Default)]
struct UnsavedChanges {
    group: Group,
    groups: usize,
    position: Position,
    /// The state at that position.
    state: Snapshot,
    /// What the save that is under way writes.
    under_way: Vec<Arc<Batch>>,
    /// Everything up to here is on disk.
    saved: Revision,
    /// The thread sleeps until it is notified.
    asleep: bool,
    closing: bool,
    failed: Option<(io::ErrorKind, String)>,
}

#[derive(Default)]
struct EndFlag(Mutex<bool>, Condvar);

/// What the thread holds. However it ends, the applier is notified, and the flag is set once
/// nothing is held any more.
struct SaverThread {
    shared: Option<Arc<SaverShared>>,
    ended: Arc<EndFlag>,
}

impl Drop for SaverThread {
    fn drop(&mut self) {
        self.shared.take().iter().for_each(|shared| shared.note_end());
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
    }
}

impl Saver {
    /// Starts the thread, if there is to be one. Everything up to `live` is in the journal already.
    pub(super) fn start(
        options: &StateMachineOptions,
        (journal, hold): (Arc<Journal>, Arc<HistoryHold>),
        live: &Live,
        failures: FailureReport,
    ) -> io::Result<Self> {
        let (position, state) = (live.position.clone(), live.state.snapshot());
        let waiting = UnsavedChanges {
            saved: position.progress.revision,
            position,
            state,
            ..UnsavedChanges::default()
        };
        let shared = Arc::new(SaverShared {
            waiting: Mutex::new(waiting),
            work: Condvar::new(),
            saved: Condvar::new(),
            target: Mutex::new(journal),
            hold,
            checkpointing: CheckpointRunner::new(options, failures.clone()),
            failures,
        });
        let ended = Arc::new(EndFlag::default());
        if options.saving == Saving::Behind {
            let running =
                SaverThread { shared: Some(Arc::clone(&shared)), ended: Arc::clone(&ended) };
            let run = async move { running.shared.iter().for_each(|shared| shared.run()) };
            SystemDisk.spawn("state-saver", Box::pin(run))?;
        }
        Ok(Self { shared, saving: options.saving, ended })
    }

    /// For readers of what is not on disk yet.
    pub(super) fn shared(&self) -> Arc<SaverShared> {
        Arc::clone(&self.shared)
    }

    /// Takes a group in that leads to `live`, whose state this is. Waits for the disk when too much
    /// is waiting.
    pub(super) fn take(&self, group: Group, live: &Live, state: Snapshot) -> io::Result<()> {
        let mut waiting = self.shared.waiting.lock();
        waiting.check()?;
        waiting.position.progress = live.position.progress;
        if group.changes_membership() {
            waiting.position.membership = live.position.membership.clone();
        }
        waiting.state = state;
        waiting.group.append(group);
        waiting.groups += 1;
        match self.saving {
            Saving::Every(groups) if waiting.groups >= groups => {
                drop(waiting);
                self.shared.save()
            }
            Saving::Every(_) => Ok(()),
            Saving::Behind => {
                if waiting.asleep {
                    waiting.asleep = false;
                    self.shared.work.notify_one();
                } else if waiting.group.bytes() >= SAVE_BYTES {
                    self.shared.work.notify_one();
                }
                if waiting.group.bytes() >= MAX_UNSAVED_BYTES {
                    blocking(|| self.shared.wait_for_room(waiting))
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Has everything that was taken on disk when it returns, as far as a crash of the process is
    /// concerned.
    pub(super) fn save(&self) -> io::Result<()> {
        self.shared.save()
    }

    /// Goes on in a journal that has everything up to `live`: what waits belongs to the one before.
    pub(super) fn replace(
        &self,
        switch: impl FnOnce() -> io::Result<(Arc<Journal>, Live)>,
    ) -> io::Result<(Arc<Journal>, Live)> {
        let mut target = self.shared.target.lock();
        self.shared.checkpointing.end();
        let (journal, live) = switch()?;
        let mut waiting = self.shared.waiting.lock();
        (waiting.group, waiting.groups) = (Group::default(), 0);
        (waiting.position, waiting.saved) =
            (live.position.clone(), live.position.progress.revision);
        waiting.state = live.state.snapshot();
        *target = Arc::clone(&journal);
        Ok((journal, live))
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        if self.saving != Saving::Behind {
            return;
        }
        self.shared.waiting.lock().closing = true;
        self.shared.work.notify_one();
        let mut ended = self.ended.0.lock();
        while !*ended {
            self.ended.1.wait(&mut ended);
        }
        self.shared.checkpointing.end();
    }
}

impl UnsavedChanges {
    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, reason)) => Err(io::Error::new(*kind, reason.clone())),
            None => Ok(()),
        }
    }
}

impl SaverShared {
    /// The batches from `first` on that are not on disk, in order; `None` when that one is on disk.
    pub(super) fn unsaved(&self, first: Revision) -> Option<Vec<Arc<Batch>>> {
        let waiting = self.waiting.lock();
        let batches = waiting.under_way.iter().chain(waiting.group.batches());
        (first > waiting.saved)
            .then(|| batches.filter(|batch| batch.revision >= first).cloned().collect())
    }

    /// The revision before the first batch that is not on disk, if there is one.
    pub(super) fn unsaved_after(&self) -> Option<Revision> {
        let waiting = self.waiting.lock();
        let first = waiting.under_way.iter().chain(waiting.group.batches()).next()?;
        Some(Revision::new(first.revision.get() - 1))
    }

    /// The thread.
    fn run(&self) {
        loop {
            let closing = self.wait_for_work();
            // The applier gets the failure at its next group, and the thread is of no use after
            // one.
            if self.save().is_err() || closing {
                return;
            }
        }
    }

    /// The thread has ended: no caller may wait for a save.
    fn note_end(&self) {
        let mut waiting = self.waiting.lock();
        if !waiting.closing && waiting.failed.is_none() {
            let reason = "state machine: the thread that saves has ended".to_owned();
            waiting.failed = Some((io::ErrorKind::Other, reason));
        }
        drop(waiting);
        self.saved.notify_all();
    }

    /// Waits until there is something to write and others have had time to join it. True when this
    /// is the last time.
    fn wait_for_work(&self) -> bool {
        let mut waiting = self.waiting.lock();
        while waiting.group.is_empty() && !waiting.closing {
            waiting.asleep = true;
            self.work.wait(&mut waiting);
        }
        waiting.asleep = false;
        if waiting.group.bytes() < SAVE_BYTES && !waiting.closing {
            self.work.wait_for(&mut waiting, SAVE_PERIOD);
        }
        waiting.closing
    }

    fn wait_for_room(&self, mut waiting: MutexGuard<'_, UnsavedChanges>) -> io::Result<()> {
        while waiting.group.bytes() >= MAX_UNSAVED_BYTES && waiting.failed.is_none() {
            self.saved.wait(&mut waiting);
        }
        waiting.check()
    }

    fn save(&self) -> io::Result<()> {
        let journal = self.target.lock();
        let (group, position, state) = {
            let mut waiting = self.waiting.lock();
            waiting.check()?;
            if waiting.group.is_empty() {
                return Ok(());
            }
            waiting.groups = 0;
            waiting.under_way = waiting.group.batches().to_vec();
            (std::mem::take(&mut waiting.group), waiting.position.clone(), waiting.state.clone())
        };
        let (revision, oldest) = (position.progress.revision, position.progress.oldest);
        let written = journal.append(group.batches(), &position).and_then(|()| {
            journal.drop_until(oldest, &self.hold)?;
            let sequence = journal.sequence();
            self.checkpointing.consider(&journal, Checkpoint { state, position, sequence })
        });
        let mut waiting = self.waiting.lock();
        match &written {
            Ok(()) => {
                waiting.saved = revision;
                waiting.under_way.clear();
            }
            Err(error) => waiting.failed = Some((error.kind(), error.to_string())),
        }
        drop(waiting);
        self.saved.notify_all();
        self.failures.watch(written)
    }
}
