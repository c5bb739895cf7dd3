//! Frames of the journal where they are: in which segment, and which batches they have.
//!
//! Invariant: a frame that is held can be read, though its segment was removed; what is read is what
//! was written, or `InvalidData`. Writing and removing are the journal's.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use quorate_env::disk::File;
use quorate_store::Revision;

use super::error::invalid;
use super::folder::{Folder, GenerationFile};
use super::frame::{FrameHeader, HEADER_BYTES, Summary};
use super::frame_contents::FrameContents;

/// One file of frames.
pub(super) struct JournalSegment {
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
    pub(super) generation: u64,
}

/// Where a frame is. Holding it keeps it readable.
#[derive(Clone)]
pub(super) struct JournalFrame {
    pub(super) segment: Arc<JournalSegment>,
    pub(super) offset: u64,
    pub(super) header: FrameHeader,
    pub(super) after: Revision,
    pub(super) last: Revision,
}

impl JournalSegment {
    /// An existing one.
    pub(super) fn open(folder: &Folder, name: GenerationFile) -> io::Result<Self> {
        let path = folder.path_of(name);
        Ok(Self { file: folder.disk.open(&path)?, path, generation: name.generation })
    }
}

impl JournalFrame {
    /// The frame that begins here, if there is one whose header and summary are sound.
    pub(super) fn find(
        segment: &Arc<JournalSegment>,
        offset: u64,
        length: u64,
    ) -> io::Result<Option<(Self, Summary)>> {
        let mut bytes = vec![0; HEADER_BYTES];
        if offset + HEADER_BYTES as u64 > length {
            return Ok(None);
        }
        segment.file.read_at(offset, &mut bytes)?;
        let Some(header) = FrameHeader::parse(&bytes, segment.generation) else {
            return Ok(None);
        };
        if offset + header.end() as u64 > length {
            return Ok(None);
        }
        let mut bytes = vec![0; header.summary_bytes as usize];
        segment.file.read_at(offset + header.summary_at() as u64, &mut bytes)?;
        let Some(summary) = header.summary(&bytes, segment.generation) else {
            return Ok(None);
        };
        let (after, last) = (summary.after(), summary.position.progress.revision);
        Ok(Some((Self { segment: Arc::clone(segment), offset, header, after, last }, summary)))
    }

    /// Its number.
    pub(super) fn sequence(&self) -> u64 {
        self.header.sequence
    }

    /// Where it ends, in its segment.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.header.frame_bytes()
    }

    /// The revision before its first batch.
    pub(super) fn after(&self) -> Revision {
        self.after
    }

    /// The revision of its last batch, or before that one if it has none.
    pub(super) fn last(&self) -> Revision {
        self.last
    }

    /// Its segment.
    pub(super) fn segment(&self) -> &Arc<JournalSegment> {
        &self.segment
    }

    /// Reads it whole. `InvalidData` when it is not what was written.
    pub(super) fn read(&self) -> io::Result<FrameContents> {
        let bytes = self.bytes()?;
        let generation = self.segment.generation;
        let (body, summary) =
            (HEADER_BYTES..self.header.summary_at(), self.header.summary_at()..self.header.end());
        let summary =
            self.header.summary(&bytes[summary], generation).ok_or_else(|| self.damaged())?;
        let body = bytes.slice(body);
        let parts: u64 = summary.batches.iter().map(|batch| u64::from(batch.bytes)).sum();
        if parts != body.len() as u64 || !self.header.is_body(&body, generation) {
            return Err(self.damaged());
        }
        Ok(FrameContents::new(summary, body))
    }

    /// Writes what it was read as once more: a sync that failed before this start may have left it
    /// in the cache alone.
    pub(super) fn rewrite(&self) -> io::Result<()> {
        self.segment.file.write_at(self.offset, &self.bytes()?)
    }

    fn bytes(&self) -> io::Result<Bytes> {
        let mut bytes = vec![0; self.header.end()];
        self.segment.file.read_at(self.offset, &mut bytes)?;
        Ok(bytes.into())
    }

    fn damaged(&self) -> io::Error {
        invalid(format_args!(
            "frame {} of {} is damaged",
            self.sequence(),
            self.segment.path.display()
        ))
    }
}
