//! Loading: a start reads the current generation back into memory and checks it.
//!
//! Invariant: what is loaded agrees with the progress that was stored with it (revision, count,
//! size and checksum of the objects; an unbroken history from `oldest` to the newest revision), and
//! has all that was synced, or the start fails and says what disagrees. What a start has shown is
//! durable: what was not synced is written once more and synced before.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use quorate_store::{Batch, Revision, State};

use super::checkpoint;
use super::error::StateOpenError;
use super::folder::{FileKind, Folder, GenerationFile};
use super::frame::BatchSummary;
use super::group::Live;
use super::journal::Journal;
use super::journal_frame::JournalFrame;
use super::options::{Saving, StateMachineOptions};
use super::progress::{Position, Progress};
use super::record;
use super::replay::{Rebuilt, Replay};
use super::retention::RetentionWindow;
use crate::types::LogId;

/// Everything in memory again, and the newest batches for the serving form, oldest first.
pub(super) struct Loaded {
    pub(super) journal: Arc<Journal>,
    pub(super) live: Live,
    pub(super) recent: Vec<Arc<Batch>>,
}

/// Opens the folder and loads the current generation.
pub(super) fn load(options: &StateMachineOptions) -> Result<Loaded, StateOpenError> {
    let folder = Arc::new(Folder::open(options)?);
    let source = Source { folder: &folder, saving: options.saving };
    let generation = folder.generation();
    let names = folder.files(generation).map_err(|error| folder.failed(error))?;
    let (sequence, start, mut rebuilt) = source.checkpoint(&names)?;
    let replay = Replay::find(&folder, &names, sequence, &mut rebuilt)
        .map_err(|error| source.unreadable(error))?;
    source.check_join(&replay, sequence)?;
    let position = replay.position.clone().unwrap_or(start);
    source.check_synced(position.progress.log_id)?;
    let state = source.state(rebuilt, &position.progress)?;
    source.remove_needless(&names, &replay, sequence)?;
    source.rewrite_doubtful(&replay, position.progress.log_id)?;
    let window = source.window(&replay, &position.progress)?;
    let recent = source.recent(&replay.frames, &position.progress, options.warm_bytes)?;
    let applied = position.progress.log_id;
    let (segment_bytes, frames) = (options.segment_bytes, replay.frames);
    let journal =
        Journal::new(Arc::clone(&folder), generation, segment_bytes, frames, sequence, applied);
    Ok(Loaded { journal: Arc::new(journal), live: Live { state, position, window }, recent })
}

struct Source<'a> {
    folder: &'a Folder,
    saving: Saving,
}

impl Source<'_> {
    /// The newest checkpoint: its frame, where that leads to, and the objects.
    fn checkpoint(
        &self,
        names: &[GenerationFile],
    ) -> Result<(u64, Position, Rebuilt), StateOpenError> {
        let Some(newest) = names.iter().rfind(|name| name.kind == FileKind::Checkpoint) else {
            return Ok((0, Position::default(), Rebuilt::default()));
        };
        let (position, objects) = checkpoint::read(self.folder, *newest, self.saving)
            .map_err(|error| self.unreadable(error))?;
        // The reader has compared them with the progress.
        let found = position.progress;
        let state = State::restore(found.revision, found.time_ms, objects);
        Ok((newest.sequence, position, Rebuilt { state, found }))
    }

    /// The journal must go on where the checkpoint ends, or have its frame.
    fn check_join(&self, replay: &Replay, checkpoint: u64) -> Result<(), StateOpenError> {
        let first = replay.frames.front().map_or(checkpoint + 1, JournalFrame::sequence);
        let last = replay.frames.back().map_or(checkpoint, JournalFrame::sequence);
        if first > checkpoint + 1 {
            return Err(self.folder.corrupt(format_args!(
                "its journal begins with frame {first}, its checkpoint is of {checkpoint}"
            )));
        }
        if last < checkpoint {
            return Err(self.folder.corrupt(format_args!(
                "its journal ends with frame {last}, its checkpoint is of {checkpoint}"
            )));
        }
        Ok(())
    }

    /// Refuses a state that has lost what was synced.
    fn check_synced(&self, applied: Option<LogId>) -> Result<(), StateOpenError> {
        let next = |entry: Option<LogId>| entry.map_or(0, |entry| entry.index + 1);
        let (found, noted) = (next(applied), next(self.folder.synced()));
        if found >= noted {
            return Ok(());
        }
        let last = noted - 1;
        Err(self.folder.corrupt(format_args!(
            "it ends before entry {found}, but entries up to {last} had been synced"
        )))
    }

    /// Removes what is needless, durably: what comes now must be found behind what counts.
    fn remove_needless(
        &self,
        names: &[GenerationFile],
        replay: &Replay,
        checkpoint: u64,
    ) -> Result<(), StateOpenError> {
        let older = |name: &&GenerationFile| {
            name.kind == FileKind::Checkpoint && name.sequence < checkpoint
        };
        let needless: Vec<&GenerationFile> =
            names.iter().filter(older).chain(&replay.needless).collect();
        let removed = needless.iter().try_for_each(|name| {
            tracing::info!(%name, "removing what does not count");
            self.folder.remove(&self.folder.path_of(**name))
        });
        let synced = removed
            .and_then(|()| if needless.is_empty() { Ok(()) } else { self.folder.sync_names() });
        synced.map_err(|error| self.folder.failed(error))
    }

    /// Makes durable what may not be.
    fn rewrite_doubtful(
        &self,
        replay: &Replay,
        applied: Option<LogId>,
    ) -> Result<(), StateOpenError> {
        if self.folder.synced() == applied {
            return Ok(());
        }
        // A checkpoint has its frame synced.
        let doubtful = replay.frames.range(replay.frames.len() - replay.replayed..);
        let rewritten = self.folder.sync_with(|| {
            let mut last: Option<&JournalFrame> = None;
            for frame in doubtful {
                frame.rewrite()?;
                if let Some(before) =
                    last.replace(frame).filter(|last| !Arc::ptr_eq(last.segment(), frame.segment()))
                {
                    before.segment().file.sync()?;
                }
            }
            last.map_or(Ok(()), |last| last.segment().file.sync())?;
            self.folder.sync_names()?;
            Ok(applied)
        });
        rewritten.map_err(|error| self.folder.failed(error))
    }

    fn state(&self, rebuilt: Rebuilt, progress: &Progress) -> Result<State, StateOpenError> {
        if let Some(difference) = progress.difference(&rebuilt.found) {
            return Err(self
                .folder
                .corrupt(format_args!("objects at revision {}: {difference}", progress.revision)));
        }
        Ok(rebuilt.state.arrived_at(progress.revision, progress.time_ms))
    }

    /// From the summaries alone, which are a hundredth of the history.
    fn window(
        &self,
        replay: &Replay,
        progress: &Progress,
    ) -> Result<RetentionWindow, StateOpenError> {
        let mut window = RetentionWindow::starting_after(progress.oldest);
        for (frame, batches) in replay.frames.iter().zip(&replay.batches) {
            let first = frame.after().next();
            for (revision, BatchSummary { time_ms, footprint, .. }) in (first.get()..).zip(batches)
            {
                if revision > progress.oldest.get() {
                    if revision != window.newest().next().get() {
                        return Err(self.missing(window.newest().next()));
                    }
                    window.push(*time_ms, *footprint);
                }
            }
        }
        if window.newest() != progress.revision {
            return Err(self.missing(window.newest().next()));
        }
        Ok(window)
    }

    /// The newest batches.
    fn recent(
        &self,
        frames: &VecDeque<JournalFrame>,
        progress: &Progress,
        warm_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, StateOpenError> {
        let mut recent = VecDeque::new();
        let mut bytes = 0;
        for frame in frames.iter().rev().take_while(|frame| frame.last() > progress.oldest) {
            let opened = frame.read().map_err(|error| self.unreadable(error))?;
            for (revision, record) in
                opened.records().rev().take_while(|(revision, _)| *revision > progress.oldest)
            {
                let batch = record::decode_history(revision, &record)
                    .ok_or_else(|| self.damaged_batch(revision))?;
                bytes += batch.footprint();
                if bytes > warm_bytes {
                    return Ok(recent.into());
                }
                recent.push_front(Arc::new(batch));
            }
        }
        Ok(recent.into())
    }

    fn missing(&self, revision: Revision) -> StateOpenError {
        self.folder.corrupt(format_args!("history: revision {revision} is missing"))
    }

    fn damaged_batch(&self, revision: Revision) -> StateOpenError {
        self.folder.corrupt(format_args!("history: the record of revision {revision}"))
    }

    /// Damage, or what the disk says.
    fn unreadable(&self, error: io::Error) -> StateOpenError {
        match error.kind() {
            io::ErrorKind::InvalidData => self.folder.corrupt(error),
            _ => self.folder.failed(error),
        }
    }
}
