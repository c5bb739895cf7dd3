//! The scan of a segment, from its first batch to the end of its valid batches; it tells a torn end
//! from damage.
//!
//! Invariant: a batch counts as a whole or not at all. An invalid batch with a valid one behind it
//! was durable once, so it is damage; without one behind it in the whole log it was never
//! acknowledged, so it is the end.

use std::path::Path;

use super::batch::{self, SECTOR_BYTES};
use super::error::LogOpenError;
use super::index::Place;
use super::record;
use super::segment::Segment;
use super::segment_header::HEADER_BYTES;

/// Bytes read from the disk at once.
const WINDOW_BYTES: usize = 1 << 20;

/// What was found in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// Byte offset after the last valid batch.
    pub(super) offset: u64,
    /// Byte offset of the last valid batch; where it would be if there is none.
    pub(super) last: u64,
    /// The number that the next batch gets; `None` if none is known.
    pub(super) next_batch: Option<u64>,
    /// Valid batches.
    pub(super) batches: u64,
    /// Bytes of a batch that was begun and is not whole.
    pub(super) torn: Option<u64>,
}

/// Gives every record of every valid batch to `visit`, and returns where they end. `next_batch` is
/// the number of the first, where it is known.
pub(super) fn scan(
    segment: &Segment,
    next_batch: Option<u64>,
    mut visit: impl FnMut(&record::RecordHeader, &[u8], Place) -> Result<(), LogOpenError>,
) -> Result<End, LogOpenError> {
    let mut buffer = ScanBuffer { segment, start: 0, bytes: Vec::new() };
    let mut end =
        End { offset: HEADER_BYTES, last: HEADER_BYTES, next_batch, batches: 0, torn: None };
    while let Some(header) = batch_header(&mut buffer, end.offset)? {
        if end.next_batch.is_some_and(|expected| expected != header.number) {
            let detail = format!(
                "found batch {} where batch {} belongs",
                header.number,
                end.next_batch.unwrap_or(0)
            );
            return Err(LogOpenError::corrupt(&segment.path, end.offset, detail));
        }
        let room = segment.header.length - end.offset;
        if header.batch_bytes() > room || !is_whole(&mut buffer, end.offset, &header)? {
            end.torn = Some(header.batch_bytes().min(room));
            break;
        }
        visit_batch(&mut buffer, end.offset, &header, &mut visit)?;
        end.last = end.offset;
        end.offset += header.batch_bytes();
        end.next_batch = Some(header.number + 1);
        end.batches += 1;
    }
    refuse_damage(&mut buffer, end.offset)?;
    Ok(end)
}

/// An invalid batch must have no valid one behind it.
fn refuse_damage(buffer: &mut ScanBuffer<'_>, end: u64) -> Result<(), LogOpenError> {
    let mut offset = end + SECTOR_BYTES as u64;
    let Some(header) = next_batch_header(buffer, &mut offset)? else {
        return Ok(());
    };
    let detail = format!(
        "not a valid batch, but batch {} at offset {offset} was written after it",
        header.number
    );
    Err(LogOpenError::corrupt(&buffer.segment.path, end, detail))
}

fn next_batch_header(
    buffer: &mut ScanBuffer<'_>,
    offset: &mut u64,
) -> Result<Option<batch::BatchHeader>, LogOpenError> {
    while *offset < buffer.segment.header.length {
        if let Some(header) = batch_header(buffer, *offset)? {
            return Ok(Some(header));
        }
        *offset += SECTOR_BYTES as u64;
    }
    Ok(None)
}

fn batch_header(
    buffer: &mut ScanBuffer<'_>,
    offset: u64,
) -> Result<Option<batch::BatchHeader>, LogOpenError> {
    let seed = buffer.segment.seed;
    if offset + SECTOR_BYTES as u64 > buffer.segment.header.length {
        return Ok(None);
    }
    Ok(batch::parse(buffer.get(offset, batch::HEADER_BYTES)?, seed))
}

fn is_whole(
    buffer: &mut ScanBuffer<'_>,
    offset: u64,
    header: &batch::BatchHeader,
) -> Result<bool, LogOpenError> {
    let seed = buffer.segment.seed;
    let mut rest = buffer.get(offset + batch::HEADER_BYTES as u64, header.body)?;
    let mut records = 0;
    while let Some(record) = record::verify(rest, seed) {
        rest = &rest[record.record_bytes()..];
        records += 1;
    }
    Ok(rest.is_empty() && records == header.records)
}

fn visit_batch(
    buffer: &mut ScanBuffer<'_>,
    offset: u64,
    header: &batch::BatchHeader,
    visit: &mut impl FnMut(&record::RecordHeader, &[u8], Place) -> Result<(), LogOpenError>,
) -> Result<(), LogOpenError> {
    let sequence = buffer.segment.header.sequence;
    let start = offset + batch::HEADER_BYTES as u64;
    let body = buffer.get(start, header.body)?;
    let mut at = 0;
    while let Some(record) = record::parse(&body[at..]) {
        let bytes = record.record_bytes();
        let offset = u32::try_from(start + at as u64).expect("segments are shorter than 4 GiB");
        let place =
            Place { sequence, offset, bytes: u32::try_from(bytes).expect("inside a segment") };
        visit(&record, &body[at..at + bytes], place)?;
        at += bytes;
    }
    Ok(())
}

/// A view on the file that moves forward.
struct ScanBuffer<'a> {
    segment: &'a Segment,
    start: u64,
    bytes: Vec<u8>,
}

impl ScanBuffer<'_> {
    /// Bytes of the file, which must lie inside the segment.
    fn get(&mut self, offset: u64, length: usize) -> Result<&[u8], LogOpenError> {
        let held = self.start..self.start + self.bytes.len() as u64;
        if offset < held.start || offset + length as u64 > held.end {
            self.fill(offset, length)?;
        }
        let at = usize::try_from(offset - self.start).expect("inside the buffer");
        Ok(&self.bytes[at..at + length])
    }

    fn fill(&mut self, offset: u64, length: usize) -> Result<(), LogOpenError> {
        let path: &Path = &self.segment.path;
        let left =
            usize::try_from(self.segment.header.length - offset).expect("segments fit into memory");
        self.bytes.resize(length.max(WINDOW_BYTES.min(left)), 0);
        self.start = offset;
        self.segment.file.read_at(offset, &mut self.bytes).map_err(LogOpenError::io(path))
    }
}
