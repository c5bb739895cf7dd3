//! The contents of one frame of the journal: its summary, and the records of its batches.

use std::vec;

use bytes::Bytes;
use quorate_store::Revision;

use super::frame::Summary;

/// A frame that was read.
pub(super) struct FrameContents {
    pub(super) summary: Summary,
    body: Bytes,
}

impl FrameContents {
    /// A frame whose checksums hold.
    pub(super) fn new(summary: Summary, body: Bytes) -> Self {
        Self { summary, body }
    }

    /// The records of its batches, with their revisions.
    pub(super) fn records(&self) -> vec::IntoIter<(Revision, Bytes)> {
        let first = self.summary.after().get() + 1;
        let mut records = Vec::with_capacity(self.summary.batches.len());
        let mut at = 0;
        for (revision, batch) in (first..).zip(&self.summary.batches) {
            let end = at + batch.bytes as usize;
            records.push((Revision::new(revision), self.body.slice(at..end)));
            at = end;
        }
        records.into_iter()
    }
}
