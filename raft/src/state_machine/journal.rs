//! The journal: every change that was applied, frame by frame, in segments. It is the state's
//! history, and with a checkpoint the state.
//!
//! No answer waits for it: the log has every entry until the journal has it durably. So frames are
//! written without a sync, and synced ([`Journal::persist`]) before the log may be compacted,
//! before a checkpoint counts and before a segment is removed.
//!
//! Invariants: what is written is never written again, and a start goes on in a segment of its own
//! (`replay.rs`), so that nothing comes behind a torn frame; segments are removed oldest first; a
//! reader of a segment goes on reading it when it is removed. After a write or a sync has failed
//! the journal takes nothing any more.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use quorate_store::{Batch, Revision};

use super::error::storage;
use super::folder::{FileKind, Folder, GenerationFile};
use super::frame::FrameBuilder;
use super::hold::HistoryHold;
use super::journal_frame::{JournalFrame, JournalSegment};
use super::progress::Position;
use crate::types::LogId;

/// Bytes that are written at once, so that the log's writes do not wait long behind them.
const WRITE_BYTES: usize = 512 << 10;

/// The journal of one generation.
pub(super) struct Journal {
    folder: Arc<Folder>,
    generation: u64,
    segment_bytes: u64,
    frames: RwLock<VecDeque<JournalFrame>>,
    tail: Mutex<JournalTail>,
    /// The frame that the newest checkpoint has, and how long the journal had been then.
    checkpoint: AtomicU64,
    bytes_at_checkpoint: AtomicU64,
}

/// Where the next frame goes.
#[derive(Default)]
struct JournalTail {
    segment: Option<Arc<JournalSegment>>,
    /// Bytes in the segment.
    length: u64,
    /// Bytes in all segments that there ever were.
    total: u64,
    /// The last frame's number.
    sequence: u64,
    builder: FrameBuilder,
    /// Segments with something that is not synced, and whether their names are not.
    unsynced: Vec<Arc<JournalSegment>>,
    unsynced_names: bool,
    /// The last entry in it.
    applied: Option<LogId>,
    failed: bool,
}

impl Journal {
    /// The journal of a generation with these frames, the last of which ends with this entry.
    pub(super) fn new(
        folder: Arc<Folder>,
        generation: u64,
        segment_bytes: u64,
        frames: VecDeque<JournalFrame>,
        checkpoint: u64,
        applied: Option<LogId>,
    ) -> Self {
        let since = |frames: &VecDeque<JournalFrame>, after| -> u64 {
            frames
                .iter()
                .filter(|frame| frame.sequence() > after)
                .map(|frame| frame.header.frame_bytes())
                .sum()
        };
        let (total, since) = (since(&frames, 0), since(&frames, checkpoint));
        let sequence = frames.back().map_or(checkpoint, JournalFrame::sequence);
        let tail = JournalTail { total, sequence, applied, ..JournalTail::default() };
        Self {
            folder,
            generation,
            segment_bytes,
            frames: RwLock::new(frames),
            tail: Mutex::new(tail),
            checkpoint: AtomicU64::new(checkpoint),
            bytes_at_checkpoint: AtomicU64::new(total - since),
        }
    }

    /// Its generation.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// The folder that it is in.
    pub(super) fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// The number of the last frame.
    pub(super) fn sequence(&self) -> u64 {
        self.tail.lock().sequence
    }

    /// Bytes written since the newest checkpoint.
    pub(super) fn bytes_since_checkpoint(&self) -> u64 {
        self.tail.lock().total - self.bytes_at_checkpoint.load(Ordering::Relaxed)
    }

    /// Writes batches that lead to this position as one frame. It survives a crash of the process.
    pub(super) fn append(&self, batches: &[Arc<Batch>], position: &Position) -> io::Result<()> {
        self.write(position, |builder| batches.iter().for_each(|batch| builder.push(batch)))
    }

    /// The same with what `fill` puts in.
    pub(super) fn write(
        &self,
        position: &Position,
        fill: impl FnOnce(&mut FrameBuilder),
    ) -> io::Result<()> {
        let mut tail = self.tail.lock();
        tail.check()?;
        fill(&mut tail.builder);
        let sequence = tail.sequence + 1;
        let (header, summary) = tail.builder.finish(self.generation, sequence, position.clone());
        let written = self.place(&mut tail, header.frame_bytes());
        tail.failed = written.is_err();
        let (segment, offset) = written.map_err(storage)?;
        tail.builder.clear();
        tail.sequence = sequence;
        tail.applied = position.progress.log_id;
        let (after, last) = (summary.after(), position.progress.revision);
        self.frames.write().push_back(JournalFrame { segment, offset, header, after, last });
        Ok(())
    }

    /// Writes the finished frame behind the others. Gives where it is.
    fn place(&self, tail: &mut JournalTail, bytes: u64) -> io::Result<(Arc<JournalSegment>, u64)> {
        let segment = match tail
            .segment
            .take()
            .filter(|_| tail.length == 0 || tail.length + bytes <= self.segment_bytes)
        {
            Some(segment) => segment,
            None => {
                let name = GenerationFile {
                    kind: FileKind::Journal,
                    generation: self.generation,
                    sequence: tail.sequence + 1,
                };
                let path = self.folder.path_of(name);
                let file = self.folder.disk.create(&path)?;
                (tail.length, tail.unsynced_names) = (0, true);
                Arc::new(JournalSegment { path, file, generation: self.generation })
            }
        };
        if tail.unsynced.last().is_none_or(|last| !Arc::ptr_eq(last, &segment)) {
            tail.unsynced.push(Arc::clone(&segment));
        }
        let offset = tail.length;
        let mut at = offset;
        for part in tail.builder.bytes().chunks(WRITE_BYTES) {
            segment.file.write_at(at, part)?;
            at += part.len() as u64;
        }
        tail.length = at;
        tail.total += bytes;
        self.folder.count(bytes);
        tail.segment = Some(Arc::clone(&segment));
        Ok((segment, offset))
    }

    /// Makes everything written so far survive a crash of the machine, and notes that it does if
    /// this is the current generation.
    pub(super) fn persist(&self) -> io::Result<()> {
        self.folder.sync_with(|| {
            let (unsynced, names, applied) = {
                let mut tail = self.tail.lock();
                tail.check()?;
                let unsynced = std::mem::take(&mut tail.unsynced);
                (unsynced, std::mem::take(&mut tail.unsynced_names), tail.applied)
            };
            let synced = unsynced.iter().try_for_each(|segment| segment.file.sync());
            let synced =
                synced.and_then(|()| if names { self.folder.sync_names() } else { Ok(()) });
            if let Err(error) = synced {
                self.tail.lock().failed = true;
                return Err(storage(error));
            }
            Ok(applied.filter(|_| self.folder.generation() == self.generation))
        })
    }

    /// Nothing may be written any more.
    pub(super) fn fail(&self) {
        self.tail.lock().failed = true;
    }

    /// A checkpoint has everything up to this frame, durably.
    pub(super) fn note_checkpoint(&self, sequence: u64) {
        let since = self
            .frames
            .read()
            .iter()
            .rev()
            .take_while(|frame| frame.sequence() > sequence)
            .map(|frame| frame.header.frame_bytes())
            .sum::<u64>();
        let total = self.tail.lock().total;
        self.bytes_at_checkpoint.store(total.saturating_sub(since), Ordering::Relaxed);
        self.checkpoint.store(sequence, Ordering::Release);
    }

    /// Removes the segments that neither history after `oldest` nor a start needs, and no archive.
    /// That they are not needed is made durable before.
    pub(super) fn drop_until(&self, oldest: Revision, hold: &HistoryHold) -> io::Result<()> {
        let checkpoint = self.checkpoint.load(Ordering::Acquire);
        let mut dropped: Vec<Arc<JournalSegment>> = Vec::new();
        {
            let frames = self.frames.read();
            let oldest = hold.bound(&frames, oldest);
            let is_needed =
                |frame: &&JournalFrame| frame.last > oldest || frame.sequence() > checkpoint;
            let Some(needed) = frames.iter().find(is_needed).or(frames.back()) else {
                return Ok(());
            };
            for frame in
                frames.iter().take_while(|frame| !Arc::ptr_eq(&frame.segment, &needed.segment))
            {
                if dropped.last().is_none_or(|last| !Arc::ptr_eq(last, &frame.segment)) {
                    dropped.push(Arc::clone(&frame.segment));
                }
            }
        }
        if dropped.is_empty() {
            return Ok(());
        }
        self.persist()?;
        let is_dropped = |frame: &JournalFrame| {
            dropped.iter().any(|segment| Arc::ptr_eq(segment, &frame.segment))
        };
        let mut frames = self.frames.write();
        while frames.front().is_some_and(is_dropped) {
            frames.pop_front();
        }
        drop(frames);
        dropped.iter().try_for_each(|segment| self.folder.remove(&segment.path)).map_err(storage)
    }

    /// The revision before the first batch in it, if it has one.
    pub(super) fn begins_after(&self) -> Option<Revision> {
        self.frames.read().front().map(JournalFrame::after)
    }

    /// The frame with the batch of this revision.
    pub(super) fn frame_of(&self, revision: Revision) -> Option<JournalFrame> {
        let frames = self.frames.read();
        let at = frames.partition_point(|frame| frame.last < revision);
        frames.get(at).filter(|frame| frame.after < revision).cloned()
    }

    /// The frames with the batches after one revision up to another.
    pub(super) fn frames_between(&self, after: Revision, last: Revision) -> Vec<JournalFrame> {
        let frames = self.frames.read();
        let from = frames.partition_point(|frame| frame.last <= after);
        let wanted = frames.range(from..).take_while(|frame| frame.after < last);
        wanted.filter(|frame| frame.after < frame.last).cloned().collect()
    }
}

impl JournalTail {
    fn check(&self) -> io::Result<()> {
        match self.failed {
            true => Err(io::Error::other(
                "state machine: an earlier write or sync has failed; the disk may be full",
            )),
            false => Ok(()),
        }
    }
}
