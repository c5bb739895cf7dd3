//! An outgoing snapshot: the state at one applied entry, read out frame by frame.
//!
//! Invariants: it is of the moment at which it was made, and never changes, whatever is applied,
//! dropped or installed meanwhile; nothing is written to disk; memory stays at about two frames and
//! one of the journal's. Holding it keeps older objects in memory and dropped segments on disk, so
//! it is not kept for longer than a transfer takes.

use std::io;
use std::vec;

use bytes::{BufMut, Bytes, BytesMut};
use quorate_store::Snapshot;

use super::format::{self, STREAM_VERSION, SnapshotHeader, SnapshotTrailer};
use super::frame::{self, PAYLOAD_BYTES, StreamFrameKind};
use crate::state_machine::journal_frame::JournalFrame;
use crate::state_machine::options::StateIdentity;
use crate::state_machine::progress::{Position, encode};

/// A snapshot that can be sent.
pub struct Outgoing {
    state: Snapshot,
    history: Vec<JournalFrame>,
    pub(super) header: SnapshotHeader,
}

impl Outgoing {
    /// The snapshot of this state at this position, with the history in these frames.
    pub(in crate::state_machine) fn new(
        state: Snapshot,
        history: Vec<JournalFrame>,
        identity: &StateIdentity,
        position: Position,
    ) -> Self {
        let (cluster, naming) = (identity.cluster, identity.naming.clone());
        Self {
            state,
            history,
            header: SnapshotHeader { version: STREAM_VERSION, cluster, naming, position },
        }
    }

    /// The stream: frames to be sent in this order, each of at most [`super::MAX_FRAME_BYTES`].
    /// Each step takes about a millisecond, and reads the disk where it comes to the history
    /// (mostly the page cache). An error ends the stream; the transfer must be abandoned.
    #[must_use]
    pub fn frames(self) -> Frames {
        Frames {
            sequence: 0,
            buffer: frame::begin(),
            trailer: SnapshotTrailer::default(),
            stage: SendStage::Header,
            snapshot: self,
        }
    }
}

/// The frames of an [`Outgoing`]. Also a stream by `futures::stream::iter`.
pub struct Frames {
    sequence: u32,
    /// The frame that comes next.
    buffer: BytesMut,
    trailer: SnapshotTrailer,
    stage: SendStage,
    snapshot: Outgoing,
}

enum SendStage {
    Header,
    /// After this key.
    Objects(Option<Bytes>),
    History(vec::IntoIter<JournalFrame>),
    Trailer,
    Done,
}

impl Iterator for Frames {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let frame = self.advance();
        if frame.is_err() {
            self.stage = SendStage::Done;
        }
        frame.transpose()
    }
}

impl Frames {
    fn advance(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let kind = match &self.stage {
                SendStage::Header => return Ok(Some(self.header())),
                SendStage::Objects(_) => StreamFrameKind::Objects,
                SendStage::History(_) => StreamFrameKind::History,
                SendStage::Trailer => return Ok(Some(self.trailer())),
                SendStage::Done => return Ok(None),
            };
            let full = frame::payload_bytes(&self.buffer) >= PAYLOAD_BYTES;
            if !full && self.fill()? {
                continue;
            }
            if !full {
                self.next_stage();
            }
            if frame::payload_bytes(&self.buffer) > 0 {
                return Ok(Some(self.frame(kind)));
            }
        }
    }

    /// Adds what comes next in this stage; false when nothing does.
    fn fill(&mut self) -> io::Result<bool> {
        match &mut self.stage {
            SendStage::Objects(after) => {
                let from = after.clone();
                for (key, entry) in self.snapshot.state.range(b"", from.as_deref()) {
                    format::put_object(&mut self.buffer, key, entry);
                    self.trailer.objects += 1;
                    *after = Some(key.clone());
                    if frame::payload_bytes(&self.buffer) >= PAYLOAD_BYTES {
                        break;
                    }
                }
                Ok(*after != from)
            }
            SendStage::History(frames) => {
                let Some(frame) = frames.next() else {
                    return Ok(false);
                };
                let progress = &self.snapshot.header.position.progress;
                for (revision, record) in frame.read()?.records() {
                    if revision > progress.oldest && revision <= progress.revision {
                        self.trailer.count_batch(&record);
                        format::put_batch(&mut self.buffer, revision, &record);
                    }
                }
                Ok(true)
            }
            SendStage::Header | SendStage::Trailer | SendStage::Done => Ok(false),
        }
    }

    fn next_stage(&mut self) {
        self.stage = match self.stage {
            SendStage::Objects(_) => {
                SendStage::History(std::mem::take(&mut self.snapshot.history).into_iter())
            }
            _ => SendStage::Trailer,
        };
    }

    fn header(&mut self) -> Bytes {
        self.stage = SendStage::Objects(None);
        self.buffer.put_slice(&encode(&self.snapshot.header));
        self.frame(StreamFrameKind::Header)
    }

    fn trailer(&mut self) -> Bytes {
        self.stage = SendStage::Done;
        self.trailer.objects_checksum = self.snapshot.header.position.progress.checksum.get();
        self.buffer.put_slice(&encode(&self.trailer));
        self.frame(StreamFrameKind::Trailer)
    }

    fn frame(&mut self, kind: StreamFrameKind) -> Bytes {
        let (frame, next) = frame::finish(std::mem::take(&mut self.buffer), kind, self.sequence);
        self.buffer = next;
        self.sequence += 1;
        frame
    }
}
