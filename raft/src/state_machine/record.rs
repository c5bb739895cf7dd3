//! Records: the values of objects and history as bytes.
//!
//! Invariant: decoding what was encoded gives the same thing back, and anything else is an error,
//! never a guess. An object: created revision (u64 LE), modified revision (u64 LE), value. A batch
//! of history: time (u64 LE, ms), footprint (u64 LE, bytes), postcard of its changes (`change.rs`),
//! its origin (which format 3 did not have). This file does no IO.

use bytes::{BufMut, Bytes};
use quorate_store::{Batch, Entry, Revision};

use super::change::Change;

/// Bytes before the value in an object's record.
const OBJECT_HEADER_BYTES: usize = 16;
/// Bytes before the events in a history record.
const HISTORY_HEADER_BYTES: usize = 16;

/// Bytes of an object's record.
pub(super) fn object_bytes(entry: &Entry) -> usize {
    OBJECT_HEADER_BYTES + entry.value.len()
}

/// Appends an object's record.
pub(super) fn put_object(entry: &Entry, out: &mut impl BufMut) {
    out.put_u64_le(entry.created.get());
    out.put_u64_le(entry.modified.get());
    out.put_slice(&entry.value);
}

/// Reads an object's record; the value is copied out. `None` when it is too short.
pub(super) fn decode_object(record: &[u8]) -> Option<Entry> {
    let (header, value) = record.split_at_checked(OBJECT_HEADER_BYTES)?;
    let (created, modified) = header.split_at(8);
    Some(Entry {
        created: Revision::new(u64::from_le_bytes(created.try_into().ok()?)),
        modified: Revision::new(u64::from_le_bytes(modified.try_into().ok()?)),
        value: Bytes::copy_from_slice(value),
    })
}

/// Writes a batch's history record over `buffer`.
pub(crate) fn encode_history(batch: &Batch, buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.extend_from_slice(&batch.time_ms.to_le_bytes());
    buffer.extend_from_slice(&(batch.footprint() as u64).to_le_bytes());
    let taken = std::mem::take(buffer);
    let changes: Vec<_> = batch.events.iter().map(Change::of).collect();
    *buffer = postcard::to_extend(&changes, taken)
        .expect("a vector grows and the changes have no failing parts");
    buffer.extend_from_slice(&batch.origin);
}

/// Reads a history record whole. `None` when it is damaged.
pub(crate) fn decode_history(revision: Revision, record: &[u8]) -> Option<Batch> {
    let (time_ms, _) = history_header(record)?;
    let (changes, rest) =
        postcard::take_from_bytes::<Vec<Change>>(&record[HISTORY_HEADER_BYTES..]).ok()?;
    let events = changes.into_iter().map(Change::into_event).collect::<Option<_>>()?;
    let origin = Bytes::copy_from_slice(rest);
    Some(Batch { revision, time_ms, events, origin })
}

/// Only the time and the footprint of a history record.
pub(super) fn history_header(record: &[u8]) -> Option<(u64, u64)> {
    let (time, rest) = record.split_first_chunk::<8>()?;
    let (footprint, _) = rest.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*time), u64::from_le_bytes(*footprint)))
}

#[cfg(test)]
mod tests {
    use quorate_store::Event;

    use super::*;

    fn entry(value: &'static str) -> Entry {
        Entry { value: Bytes::from(value), created: Revision::new(3), modified: Revision::new(9) }
    }

    #[test]
    fn objects_round_trip() {
        for value in ["", "x", "a longer value"] {
            let mut buffer = vec![];
            put_object(&entry(value), &mut buffer);
            assert_eq!(buffer.len(), object_bytes(&entry(value)));
            assert_eq!(decode_object(&buffer), Some(entry(value)));
            assert_eq!(decode_object(&buffer[..15]), None);
        }
    }

    #[test]
    fn history_round_trips_and_damage_is_noticed() {
        let events = [
            Event { key: "a".into(), current: Some(entry("new")), previous: Some(entry("old")) },
            Event { key: "b".into(), current: None, previous: None },
        ];
        let mut buffer = vec![9; 100];
        for origin in ["", "somebody"] {
            let (revision, origin) = (Revision::new(7), Bytes::from(origin));
            let batch = Batch { revision, time_ms: 1234, events: events.clone().into(), origin };
            encode_history(&batch, &mut buffer);
            assert_eq!(decode_history(revision, &buffer), Some(batch.clone()));
            assert_eq!(history_header(&buffer), Some((1234, batch.footprint() as u64)));
            let short = &buffer[..buffer.len() - batch.origin.len() - 1];
            assert_eq!(decode_history(revision, short), None);
        }
    }
}
