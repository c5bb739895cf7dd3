//! Log reads: recent entries come from memory, the others from the segments, adjacent ones with one
//! read.
//!
//! Invariants: what to read is decided under the lock and read outside of it; a plan holds its
//! segments, so they are not used again meanwhile; every record is checked again.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::index::Place;
use super::record::{self, RecordKind};
use super::segment::Segment;
use super::shared::SharedLog;
use crate::types::{LogEntry, Payload};

/// Most bytes of one read from a segment; a larger record is read alone.
const SPAN_BYTES: u64 = 1 << 20;

/// Where the entries of a range come from, in order.
pub(super) struct ReadPlan {
    places: Vec<(u64, Arc<Segment>, Place)>,
    recent: Vec<LogEntry>,
}

/// Plans reading the part of `range` that the log holds, up to `limit` bytes but at least one
/// entry. An entry that must be held and is not is an error.
pub(super) fn plan(state: &SharedLog, range: Range<u64>, limit: usize) -> io::Result<ReadPlan> {
    let (first, end) = state.bounds();
    let mut plan = ReadPlan { places: Vec::new(), recent: Vec::new() };
    let mut bytes = 0;
    for index in range.start.max(first)..range.end.min(end) {
        if bytes >= limit {
            break;
        }
        if let Some((entry, size)) = state.tail.get(index) {
            plan.recent.push(entry.clone());
            bytes += size;
        } else {
            let place = state.durable.place(index).ok_or_else(|| hole(index))?;
            let segment = state.durable.segments.get(&place.sequence).ok_or_else(|| hole(index))?;
            plan.places.push((index, Arc::clone(segment), place));
            bytes += place.bytes as usize;
        }
    }
    Ok(plan)
}

impl ReadPlan {
    /// Reads what was planned.
    pub(super) fn read(self) -> io::Result<Vec<LogEntry>> {
        let mut entries = Vec::with_capacity(self.places.len() + self.recent.len());
        let mut rest = &self.places[..];
        while let Some((_, segment, first)) = rest.first() {
            let near = |place: &Place| {
                place.sequence == first.sequence
                    && place.offset >= first.offset
                    && u64::from(place.offset - first.offset) + u64::from(place.bytes) <= SPAN_BYTES
            };
            let count = rest.iter().take_while(|(_, _, place)| near(place)).count().max(1);
            let (span, after) = rest.split_at(count);
            read_span(segment, span, &mut entries)?;
            rest = after;
        }
        entries.extend(self.recent);
        Ok(entries)
    }
}

fn read_span(
    segment: &Segment,
    span: &[(u64, Arc<Segment>, Place)],
    entries: &mut Vec<LogEntry>,
) -> io::Result<()> {
    let (Some((_, _, first)), Some((_, _, last))) = (span.first(), span.last()) else {
        return Ok(());
    };
    let mut bytes = vec![0; (last.offset - first.offset + last.bytes) as usize];
    segment.file.read_at(first.offset.into(), &mut bytes)?;
    for (index, _, place) in span {
        let record = &bytes[(place.offset - first.offset) as usize..][..place.bytes as usize];
        entries.push(decode(record, *index, segment, place)?);
    }
    Ok(())
}

fn decode(bytes: &[u8], index: u64, segment: &Segment, place: &Place) -> io::Result<LogEntry> {
    let damaged = |detail: &str| {
        let path = segment.path.display();
        let reason = format!(
            "log file {path} is corrupt at offset {}: entry {index} {detail}",
            place.offset
        );
        io::Error::new(io::ErrorKind::InvalidData, reason)
    };
    let header =
        record::verify(bytes, segment.seed).ok_or_else(|| damaged("fails its checksum"))?;
    let log_id = header
        .position
        .filter(|position| header.kind == RecordKind::Entry && position.index == index);
    let log_id = log_id.ok_or_else(|| damaged("is not where it was written"))?;
    let payload: Payload =
        postcard::from_bytes(header.payload(bytes)).map_err(|_| damaged("does not decode"))?;
    Ok(LogEntry { log_id, payload })
}

fn hole(index: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("log entry {index} is missing between its neighbours"),
    )
}
