//! The replay of the journal at a start: the frames that count, in order, and nothing behind them.
//!
//! Invariants: frames count up to the first that is torn, missing or of another number; what comes
//! after the newest checkpoint is read whole and applied. A segment counts up to where the next one
//! begins: a start goes on in a segment of its own, so what lies behind that was torn once. Files
//! are only read here; what is needless is removed when it is known that nothing is lost
//! (`load.rs`).

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use quorate_store::State;

use super::error::invalid;
use super::folder::{FileKind, Folder, GenerationFile};
use super::frame::{BatchSummary, Summary};
use super::frame_contents::FrameContents;
use super::journal_frame::{JournalFrame, JournalSegment};
use super::progress::{Position, Progress};
use super::record;

/// The objects so far, and what they amount to.
#[derive(Default)]
pub(super) struct Rebuilt {
    pub(super) state: State,
    /// Only objects, bytes and checksum.
    pub(super) found: Progress,
}

/// The frames of a generation's journal.
#[derive(Default)]
pub(super) struct Replay {
    pub(super) frames: VecDeque<JournalFrame>,
    /// The batches in each of them.
    pub(super) batches: VecDeque<Vec<BatchSummary>>,
    /// How many of them come after the checkpoint.
    pub(super) replayed: usize,
    /// Where the last one leads to.
    pub(super) position: Option<Position>,
    /// Segments that do not count: behind the end, or older than a gap that the checkpoint covers.
    pub(super) needless: Vec<GenerationFile>,
}

impl Replay {
    /// Finds the frames in these files, and applies those after the checkpoint to what it
    /// has.
    pub(super) fn find(
        folder: &Folder,
        names: &[GenerationFile],
        checkpoint: u64,
        rebuilt: &mut Rebuilt,
    ) -> io::Result<Self> {
        let mut replay = Self::default();
        let segments: Vec<GenerationFile> =
            names.iter().filter(|name| name.kind == FileKind::Journal).copied().collect();
        let mut next = None;
        for (at, name) in segments.iter().enumerate() {
            if next.is_some_and(|next| next != name.sequence) {
                // What a power cut brings back of segments that were dropped need not be all of
                // them.
                if name.sequence > checkpoint + 1 {
                    replay.needless.extend(&segments[at..]);
                    break;
                }
                replay = Self { needless: segments[..at].to_vec(), ..Self::default() };
            }
            let segment = Arc::new(JournalSegment::open(folder, *name)?);
            let until = segments.get(at + 1).map_or(u64::MAX, |next| next.sequence);
            let found = replay.read(&segment, name.sequence..until, checkpoint, rebuilt)?;
            next = Some(name.sequence + found);
        }
        Ok(replay)
    }

    /// Takes the frames of a segment, which are to have these numbers. Gives how many there are.
    fn read(
        &mut self,
        segment: &Arc<JournalSegment>,
        sequences: Range<u64>,
        checkpoint: u64,
        rebuilt: &mut Rebuilt,
    ) -> io::Result<u64> {
        let (length, mut offset) = (segment.file.length()?, 0);
        let Range { start: first, end: until } = sequences;
        for expected in first..until {
            let found = expected - first;
            let Some((frame, summary)) = JournalFrame::find(segment, offset, length)? else {
                return Ok(found);
            };
            if frame.sequence() != expected {
                return Ok(found);
            }
            if expected > checkpoint {
                match frame.read() {
                    Ok(opened) => rebuilt.apply(&opened)?,
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(found),
                    Err(error) => return Err(error),
                }
                self.replayed += 1;
            }
            offset = frame.end();
            self.take(frame, summary);
        }
        Ok(until - first)
    }

    fn take(&mut self, frame: JournalFrame, summary: Summary) {
        self.position = Some(summary.position);
        self.batches.push_back(summary.batches);
        self.frames.push_back(frame);
    }
}

impl Rebuilt {
    fn apply(&mut self, opened: &FrameContents) -> io::Result<()> {
        for (revision, record) in opened.records() {
            let batch = record::decode_history(revision, &record).ok_or_else(|| {
                invalid(format_args!("history: the record of revision {revision}"))
            })?;
            for event in batch.events.iter() {
                if let Some(replaced) = self.state.replay(event) {
                    self.found.discount(&event.key, &replaced);
                }
                if let Some(entry) = &event.current {
                    self.found.count(&event.key, entry);
                }
            }
        }
        Ok(())
    }
}
