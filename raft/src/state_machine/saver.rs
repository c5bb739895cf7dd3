//! Applied changes on their way to disk: they wait in memory, are put together, and written as one batch.
//!
//! The log is what makes an entry durable, so nobody waits for this: answers, reads and watches go ahead of it. What is lost in a
//! crash is applied again from the log, which keeps every entry until a snapshot has had everything before it saved and synced.
//!
//! Invariants: what waits and what is saved make up the applied state without a gap, at any moment; saves happen one at a time and in
//! order, each with its position; at most [`MAX_UNSAVED_BYTES`] and one group wait, then the applier does. After the first failure
//! nothing is saved any more and the applier is told.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use quorate_store::env::blocking;
use quorate_store::{Batch, Revision};

use super::database::{Database, Generation};
use super::group::{Group, Live};
use super::keyspace::{INDEXED_BATCHES, history_key};
use super::machine::Alarm;
use super::options::{Options, Saving};
use super::progress::Position;
use crate::disk::{Disk, SystemDisk};

/// How long changes wait for others to be written with them.
const SAVE_PERIOD: Duration = Duration::from_millis(100);
/// Bytes of changes that are written without waiting for more.
const SAVE_BYTES: usize = 2 << 20;
/// Bytes of changes beyond which the applier waits for the disk.
const MAX_UNSAVED_BYTES: usize = 16 << 20;

/// The applier's end. Dropping it ends the thread, after a last save.
pub(super) struct Saver {
    shared: Arc<Shared>,
    saving: Saving,
    ended: Arc<Flag>,
}

/// What the applier, the thread, and readers of the newest history share.
pub(super) struct Shared {
    database: Arc<Database>,
    waiting: Mutex<Waiting>,
    /// Told when the thread has something to do.
    work: Condvar,
    /// Told when a save is over.
    saved: Condvar,
    /// Held during a save.
    target: Mutex<Target>,
    reclaim_bytes: u64,
    alarm: Alarm,
}

/// What is not on disk yet.
#[derive(Default)]
struct Waiting {
    group: Group,
    groups: usize,
    position: Position,
    dropped_bytes: u64,
    /// What the save that is under way writes.
    under_way: Vec<Arc<Batch>>,
    /// Everything up to here is on disk.
    saved: Revision,
    /// The thread sleeps until it is told.
    asleep: bool,
    closing: bool,
    failed: Option<(io::ErrorKind, String)>,
}

/// Where to.
struct Target {
    generation: Generation,
    reclaimed_bytes: u64,
}

#[derive(Default)]
struct Flag(Mutex<bool>, Condvar);

/// What the thread has. However it ends, the applier hears of it, and the flag is raised once nothing is held any more.
struct Running {
    shared: Option<Arc<Shared>>,
    ended: Arc<Flag>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.take().iter().for_each(|shared| shared.note_end());
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
    }
}

impl Saver {
    /// Starts the thread, if there is to be one. Everything up to `live` is in `generation` already.
    pub(super) fn start(
        options: &Options,
        database: Arc<Database>,
        generation: Generation,
        live: &Live,
        alarm: Alarm,
    ) -> io::Result<Self> {
        let position = live.position.clone();
        let waiting = Waiting { saved: position.progress.revision, position, ..Waiting::default() };
        let shared = Arc::new(Shared {
            database,
            waiting: Mutex::new(waiting),
            work: Condvar::new(),
            saved: Condvar::new(),
            target: Mutex::new(Target { generation, reclaimed_bytes: 0 }),
            reclaim_bytes: options.reclaim_bytes,
            alarm,
        });
        let ended = Arc::new(Flag::default());
        if options.saving == Saving::Behind {
            let running = Running { shared: Some(Arc::clone(&shared)), ended: Arc::clone(&ended) };
            let run = async move { running.shared.iter().for_each(|shared| shared.run()) };
            SystemDisk.spawn("state-saver", Box::pin(run))?;
        }
        Ok(Self { shared, saving: options.saving, ended })
    }

    /// For readers of what is not on disk yet.
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Takes a group in that leads to `live`. Waits for the disk when too much is waiting.
    pub(super) fn take(&self, group: Group, live: &Live) -> io::Result<()> {
        let mut waiting = self.shared.waiting.lock();
        waiting.check()?;
        waiting.position.progress = live.position.progress;
        if group.changes_membership() {
            waiting.position.membership = live.position.membership.clone();
        }
        waiting.dropped_bytes = live.window.dropped_bytes();
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

    /// Has everything that was taken on disk when it returns, as far as a crash of the process is concerned.
    pub(super) fn save(&self) -> io::Result<()> {
        self.shared.save()
    }

    /// Goes on in a generation that has everything up to `live`: what waits belongs to the one before.
    pub(super) fn replace(
        &self,
        switch: impl FnOnce() -> io::Result<(Generation, Live)>,
    ) -> io::Result<(Generation, Live)> {
        let mut target = self.shared.target.lock();
        let (generation, live) = switch()?;
        let mut waiting = self.shared.waiting.lock();
        (waiting.group, waiting.groups, waiting.dropped_bytes) = (Group::default(), 0, 0);
        (waiting.position, waiting.saved) = (live.position.clone(), live.position.progress.revision);
        *target = Target { generation: generation.clone(), reclaimed_bytes: 0 };
        Ok((generation, live))
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
    }
}

impl Waiting {
    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, reason)) => Err(io::Error::new(*kind, reason.clone())),
            None => Ok(()),
        }
    }
}

impl Shared {
    /// The batches from `first` on that are not on disk, in order; `None` when that one is on disk.
    pub(super) fn unsaved(&self, first: Revision) -> Option<Vec<Arc<Batch>>> {
        let waiting = self.waiting.lock();
        let batches = waiting.under_way.iter().chain(waiting.group.batches());
        (first > waiting.saved).then(|| batches.filter(|batch| batch.revision >= first).cloned().collect())
    }

    /// The thread.
    fn run(&self) {
        loop {
            let closing = self.wait_for_work();
            // The applier hears of a failure at its next group, and nobody needs the thread after one.
            if self.save().is_err() || closing {
                return;
            }
        }
    }

    /// Nobody saves from now on: nobody may wait for it.
    fn note_end(&self) {
        let mut waiting = self.waiting.lock();
        if !waiting.closing && waiting.failed.is_none() {
            let reason = "state machine: the thread that saves has ended".to_owned();
            waiting.failed = Some((io::ErrorKind::Other, reason));
        }
        drop(waiting);
        self.saved.notify_all();
    }

    /// Waits until there is something to write and others have had time to join it. True when this is the last time.
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

    fn wait_for_room(&self, mut waiting: MutexGuard<'_, Waiting>) -> io::Result<()> {
        while waiting.group.bytes() >= MAX_UNSAVED_BYTES && waiting.failed.is_none() {
            self.saved.wait(&mut waiting);
        }
        waiting.check()
    }

    fn save(&self) -> io::Result<()> {
        let mut target = self.target.lock();
        let (group, position, dropped_bytes) = {
            let mut waiting = self.waiting.lock();
            waiting.check()?;
            if waiting.group.is_empty() {
                return Ok(());
            }
            waiting.groups = 0;
            waiting.under_way = waiting.group.batches().to_vec();
            (std::mem::take(&mut waiting.group), waiting.position.clone(), waiting.dropped_bytes)
        };
        let written = group.write(&self.database, &target.generation, &position).and_then(|()| {
            if dropped_bytes - target.reclaimed_bytes >= self.reclaim_bytes {
                self.reclaim(&target.generation, position.progress.oldest)?;
                target.reclaimed_bytes = dropped_bytes;
            }
            Ok(())
        });
        let mut waiting = self.waiting.lock();
        match &written {
            Ok(()) => {
                waiting.saved = position.progress.revision;
                waiting.under_way.clear();
            }
            Err(error) => waiting.failed = Some((error.kind(), error.to_string())),
        }
        drop(waiting);
        self.saved.notify_all();
        self.alarm.watch(written)
    }

    /// Frees the disk space of dropped history: whole tables, nothing is rewritten. What is dropped must be known to be
    /// dropped after a machine crash as well, so the new bounds are synced first.
    fn reclaim(&self, generation: &Generation, oldest: Revision) -> io::Result<()> {
        self.database.persist()?;
        Database::drop_through(&generation.history, &history_key(oldest))?;
        // The batches of an index record that begins this far back are all dropped.
        let indexed = Revision::new(oldest.get().saturating_sub(INDEXED_BATCHES as u64));
        Database::drop_through(&generation.index, &history_key(indexed))
    }
}
