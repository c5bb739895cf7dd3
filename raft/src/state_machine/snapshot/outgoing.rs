//! The sending side: a view of the database at one applied entry, read out frame by frame.
//!
//! Invariants: the view is taken between two groups and never changes, whatever is applied, dropped or installed meanwhile;
//! nothing is written to disk; memory stays at about two frames. Holding it keeps old versions on disk, so it is not kept
//! for longer than a transfer takes.

use std::io;

use bytes::{Bytes, BytesMut};
use fjall::Readable;

use super::format::{self, Header, STREAM_VERSION, Trailer};
use super::frame::{self, Kind, PAYLOAD_BYTES};
use crate::state_machine::database::{Generation, encode};
use crate::state_machine::error::{invalid, storage};
use crate::state_machine::keyspace::{history_key, history_revision};
use crate::state_machine::options::Identity;
use crate::state_machine::progress::Position;

/// A snapshot that can be sent.
pub struct Outgoing {
    pub(super) view: fjall::Snapshot,
    pub(super) generation: Generation,
    pub(super) header: Header,
}

impl Outgoing {
    /// A snapshot of what `view` shows in this generation.
    pub(in crate::state_machine) fn new(
        view: fjall::Snapshot,
        generation: Generation,
        identity: &Identity,
        position: Position,
    ) -> Self {
        let (cluster, naming) = (identity.cluster, identity.naming.clone());
        Self { view, generation, header: Header { version: STREAM_VERSION, cluster, naming, position } }
    }

    /// The stream: frames to be sent in this order, each of at most [`super::MAX_FRAME_BYTES`]. Each step reads the disk (mostly
    /// the page cache) for about a millisecond. An error ends the stream; the transfer must be abandoned.
    #[must_use]
    pub fn frames(self) -> Frames {
        Frames {
            sequence: 0,
            buffer: BytesMut::new(),
            trailer: Trailer::default(),
            stage: Stage::Header,
            snapshot: self,
        }
    }
}

/// The frames of an [`Outgoing`]. Also a stream by `futures::stream::iter`.
pub struct Frames {
    sequence: u32,
    buffer: BytesMut,
    trailer: Trailer,
    stage: Stage,
    snapshot: Outgoing,
}

enum Stage {
    Header,
    Objects(fjall::Iter),
    History(fjall::Iter),
    Trailer,
    Done,
}

impl Iterator for Frames {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let frame = self.advance();
        if frame.is_err() {
            self.stage = Stage::Done;
        }
        frame.transpose()
    }
}

impl Frames {
    fn advance(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let (kind, items) = match &mut self.stage {
                Stage::Header => return Ok(Some(self.header())),
                Stage::Objects(items) => (Kind::Objects, items),
                Stage::History(items) => (Kind::History, items),
                Stage::Trailer => return Ok(Some(self.trailer())),
                Stage::Done => return Ok(None),
            };
            let full = self.buffer.len() >= PAYLOAD_BYTES;
            if !full && let Some(item) = items.next() {
                let (key, record) = item.into_inner().map_err(storage)?;
                self.add(kind, &key, &record)?;
                continue;
            }
            if !full {
                self.next_stage();
            }
            let payload = self.buffer.split_to(self.buffer.len().min(PAYLOAD_BYTES));
            if !payload.is_empty() {
                return Ok(Some(self.frame(kind, &payload)));
            }
        }
    }

    fn add(&mut self, kind: Kind, key: &[u8], record: &[u8]) -> io::Result<()> {
        if kind == Kind::Objects {
            self.trailer.objects += 1;
            format::put_object(&mut self.buffer, key, record);
            return Ok(());
        }
        let revision = history_revision(key).ok_or_else(|| invalid("a key of the history is not a revision"))?;
        self.trailer.count_batch(record);
        format::put_batch(&mut self.buffer, revision, record);
        Ok(())
    }

    fn next_stage(&mut self) {
        let oldest = self.snapshot.header.position.progress.oldest;
        self.stage = match self.stage {
            Stage::Objects(_) => {
                let first = history_key(oldest.next());
                Stage::History(self.snapshot.view.range(&self.snapshot.generation.history, first..))
            }
            _ => Stage::Trailer,
        };
    }

    fn header(&mut self) -> Bytes {
        self.stage = Stage::Objects(self.snapshot.view.iter(&self.snapshot.generation.objects));
        self.frame(Kind::Header, &encode(&self.snapshot.header))
    }

    fn trailer(&mut self) -> Bytes {
        self.stage = Stage::Done;
        self.trailer.objects_checksum = self.snapshot.header.position.progress.checksum.get();
        self.frame(Kind::Trailer, &encode(&self.trailer))
    }

    fn frame(&mut self, kind: Kind, payload: &[u8]) -> Bytes {
        let frame = frame::encode(kind, self.sequence, payload);
        self.sequence += 1;
        frame
    }
}
