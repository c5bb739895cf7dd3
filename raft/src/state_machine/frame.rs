//! A frame of the journal: the changes that one save makes, and the position that they lead to.
//!
//! Layout, little endian: magic u32, crc32c u32 of the rest of the header, sequence number u64,
//! bytes of the body u32, bytes of the summary u32, crc32c u32 of the body, crc32c u32 of the
//! summary; the body, which is the records of the batches (`record.rs`) one behind the other; the
//! summary, postcard of [`Summary`]; zeros up to a block. Checksums are seeded with the generation.
//!
//! Invariants: frames begin at blocks and are numbered without gaps through all segments of a
//! generation; a header is checked before it is used. This file does no IO.

use quorate_env::disk::{BLOCK_BYTES, Blocks};
use quorate_store::{Batch, Revision};
use serde::{Deserialize, Serialize};

use super::progress::Position;
use super::record;

/// Bytes before the body.
pub(super) const HEADER_BYTES: usize = 32;
const MAGIC: u32 = 0x4a52_5551;
/// Memory that a builder keeps between two frames.
const KEPT_BYTES: usize = 4 << 20;

/// What a frame says of itself first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) sequence: u64,
    pub(super) body_bytes: u32,
    pub(super) summary_bytes: u32,
    body_crc: u32,
    summary_crc: u32,
}

/// Where a frame leads to, and what its body is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) position: Position,
    /// Its batches; their revisions are consecutive and end with the position's.
    pub(super) batches: Vec<BatchSummary>,
}

/// What is known of a batch without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchSummary {
    pub(super) time_ms: u64,
    pub(super) footprint: u64,
    /// Bytes of its record.
    pub(super) bytes: u32,
}

impl FrameHeader {
    /// The header at the front of these bytes, if it is one of this generation.
    pub(super) fn parse(bytes: &[u8], generation: u64) -> Option<Self> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        let word =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if word(0) != MAGIC || word(4) != checksum(generation, &bytes[8..]) {
            return None;
        }
        Some(Self {
            sequence: u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes")),
            body_bytes: word(16),
            summary_bytes: word(20),
            body_crc: word(24),
            summary_crc: word(28),
        })
    }

    /// Bytes of the whole frame.
    pub(super) fn frame_bytes(&self) -> u64 {
        (self.end() as u64).next_multiple_of(BLOCK_BYTES as u64)
    }

    /// Where its summary begins, from its own beginning.
    pub(super) fn summary_at(&self) -> usize {
        HEADER_BYTES + self.body_bytes as usize
    }

    /// Where the zeros begin.
    pub(super) fn end(&self) -> usize {
        self.summary_at() + self.summary_bytes as usize
    }

    /// The summary in these bytes, if they are those that were written.
    pub(super) fn summary(&self, bytes: &[u8], generation: u64) -> Option<Summary> {
        let sound = checksum(generation, bytes) == self.summary_crc;
        sound.then(|| postcard::from_bytes(bytes).ok()).flatten()
    }

    /// Whether this is the body that was written.
    pub(super) fn is_body(&self, bytes: &[u8], generation: u64) -> bool {
        checksum(generation, bytes) == self.body_crc
    }
}

impl Summary {
    /// The revision before its first batch.
    pub(super) fn after(&self) -> Revision {
        Revision::new(
            self.position.progress.revision.get().saturating_sub(self.batches.len() as u64),
        )
    }
}

/// Makes frames. Reused, to keep its memory.
#[derive(Debug, Default)]
pub(super) struct FrameBuilder {
    blocks: Blocks,
    batches: Vec<BatchSummary>,
    record: Vec<u8>,
}

impl FrameBuilder {
    /// Adds a batch.
    pub(super) fn push(&mut self, batch: &Batch) {
        let mut record = std::mem::take(&mut self.record);
        record::encode_history(batch, &mut record);
        self.push_record(&record, batch.time_ms, batch.footprint() as u64);
        self.record = record;
    }

    /// Adds the record of a batch.
    pub(super) fn push_record(&mut self, record: &[u8], time_ms: u64, footprint: u64) {
        if self.blocks.bytes().is_empty() {
            self.blocks.extend(&[0; HEADER_BYTES]);
        }
        self.blocks.extend(record);
        self.batches.push(BatchSummary { time_ms, footprint, bytes: length(record) });
    }

    /// Finishes the frame. Gives what it says of itself; [`FrameBuilder::bytes`] is what is to be
    /// written.
    pub(super) fn finish(
        &mut self,
        generation: u64,
        sequence: u64,
        position: Position,
    ) -> (FrameHeader, Summary) {
        if self.blocks.bytes().is_empty() {
            self.blocks.extend(&[0; HEADER_BYTES]);
        }
        let summary = Summary { position, batches: std::mem::take(&mut self.batches) };
        let encoded = postcard::to_stdvec(&summary)
            .expect("a vector grows and the summary has no failing parts");
        let body = &self.blocks.bytes()[HEADER_BYTES..];
        let header = FrameHeader {
            sequence,
            body_bytes: length(body),
            summary_bytes: length(&encoded),
            body_crc: checksum(generation, body),
            summary_crc: checksum(generation, &encoded),
        };
        self.blocks.extend(&encoded);
        self.blocks.fill_up();
        let bytes = &mut self.blocks.bytes_mut()[..HEADER_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
        let words = [header.body_bytes, header.summary_bytes, header.body_crc, header.summary_crc];
        words
            .iter()
            .zip(bytes[16..].chunks_mut(4))
            .for_each(|(word, place)| place.copy_from_slice(&word.to_le_bytes()));
        let crc = checksum(generation, &bytes[8..]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        (header, summary)
    }

    /// The finished frame, whole blocks.
    pub(super) fn bytes(&self) -> &[u8] {
        self.blocks.bytes()
    }

    /// Empties it for the next frame.
    pub(super) fn clear(&mut self) {
        self.blocks.clear(KEPT_BYTES);
        self.batches.clear();
    }
}

fn checksum(generation: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&generation.to_le_bytes()), bytes)
}

fn length(part: &[u8]) -> u32 {
    u32::try_from(part.len()).expect("what waits to be saved stays far below 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_it_holds_and_every_flipped_bit_is_noticed() {
        let mut builder = FrameBuilder::default();
        let mut position = Position::default();
        position.progress.revision = Revision::new(9);
        for sequence in [5, 6] {
            builder.push_record(b"eight", 8, 80);
            builder.push_record(b"nine!!", 9, 90);
            let (header, summary) = builder.finish(3, sequence, position.clone());
            let bytes = builder.bytes().to_vec();
            assert_eq!((bytes.len(), header.frame_bytes()), (BLOCK_BYTES, BLOCK_BYTES as u64));
            let read = |bytes: &[u8], generation| {
                let header = FrameHeader::parse(bytes, generation)?;
                let summary =
                    header.summary(&bytes[header.summary_at()..header.end()], generation)?;
                let body = &bytes[HEADER_BYTES..header.summary_at()];
                header.is_body(body, generation).then(|| (header, summary, body.to_vec()))
            };
            assert_eq!(read(&bytes, 3), Some((header, summary.clone(), b"eightnine!!".to_vec())));
            assert_eq!((summary.after().get(), header.sequence), (7, sequence));
            assert_eq!(read(&bytes, 4), None);
            for bit in 0..header.end() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read(&damaged, 3), None, "bit {bit}");
            }
            builder.clear();
        }
        let (_, summary) = builder.finish(3, 7, position);
        assert_eq!((summary.after().get(), builder.bytes().len()), (9, BLOCK_BYTES));
    }
}
