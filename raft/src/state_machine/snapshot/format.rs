//! The format of a snapshot stream: a header, all object records, all history records, a trailer.
//!
//! Records follow each other without regard to frame borders. An object: key length (u32 LE),
//! record length (u32 LE), key, record. A batch of history: revision (u64 LE), record length (u32
//! LE), record. Records are laid out as on disk. Objects ascend by key, batches by revision. This
//! file does no IO.

use bytes::{Buf, BufMut, BytesMut};
use quorate_store::{Entry, Revision};
use serde::{Deserialize, Serialize};

use crate::cluster::ClusterId;
use crate::state_machine::progress::Position;
use crate::state_machine::record;

/// Version of the stream. Changes with the record layouts as well.
pub(crate) const STREAM_VERSION: u32 = 3;
/// The oldest version that is received: its records have no origins.
pub(crate) const OLDEST_STREAM_VERSION: u32 = 2;

/// Bytes before an object's key.
const OBJECT_PREFIX_BYTES: usize = 8;
/// Bytes before a batch's record.
const BATCH_PREFIX_BYTES: usize = 12;

/// The first frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SnapshotHeader {
    pub(super) version: u32,
    pub(super) cluster: ClusterId,
    pub(super) naming: String,
    pub(super) position: Position,
}

/// The last frame: what the receiver must have got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SnapshotTrailer {
    pub(super) objects: u64,
    pub(super) objects_checksum: u64,
    pub(super) batches: u64,
    pub(super) history_checksum: u32,
}

impl SnapshotTrailer {
    /// Takes one history record into the totals.
    pub(super) fn count_batch(&mut self, record: &[u8]) {
        self.batches += 1;
        self.history_checksum = crc32c::crc32c_append(self.history_checksum, record);
    }
}

/// Appends an object.
pub(super) fn put_object(out: &mut BytesMut, key: &[u8], entry: &Entry) {
    out.put_u32_le(length(key.len()));
    out.put_u32_le(length(record::object_bytes(entry)));
    out.put_slice(key);
    record::put_object(entry, out);
}

/// Takes a whole object off the front, its key and its record; nothing when more bytes are needed.
pub(super) fn take_object<'a>(pending: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (mut prefix, rest) = pending.split_at_checked(OBJECT_PREFIX_BYTES)?;
    let (key, record) = (prefix.get_u32_le() as usize, prefix.get_u32_le() as usize);
    let (key, rest) = rest.split_at_checked(key)?;
    let (record, rest) = rest.split_at_checked(record)?;
    *pending = rest;
    Some((key, record))
}

/// Appends a batch of history.
pub(super) fn put_batch(out: &mut BytesMut, revision: Revision, record: &[u8]) {
    out.put_u64_le(revision.get());
    out.put_u32_le(length(record.len()));
    out.put_slice(record);
}

/// Takes a whole batch of history off the front; nothing when more bytes are needed.
pub(super) fn take_batch(pending: &mut BytesMut) -> Option<(Revision, BytesMut)> {
    let (prefix, _) = pending.split_first_chunk::<BATCH_PREFIX_BYTES>()?;
    let (mut prefix, available) = (&prefix[..], pending.len() - BATCH_PREFIX_BYTES);
    let (revision, record) = (prefix.get_u64_le(), prefix.get_u32_le() as usize);
    if available < record {
        return None;
    }
    pending.advance(BATCH_PREFIX_BYTES);
    Some((Revision::new(revision), pending.split_to(record)))
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes)
        .expect("keys and records stay below 4 GiB: the size limit of a transaction is far smaller")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_out_whole_or_not_at_all() {
        let entry = |value: &'static str| Entry {
            value: value.into(),
            created: Revision::new(3),
            modified: Revision::new(9),
        };
        let (mut stream, mut records) = (BytesMut::new(), vec![]);
        for (key, value) in [("key", "value"), ("", "")] {
            put_object(&mut stream, key.as_bytes(), &entry(value));
            records.push((key, entry(value)));
        }
        let first = OBJECT_PREFIX_BYTES + 3 + record::object_bytes(&entry("value"));
        for length in 0..=stream.len() {
            let (mut pending, mut found) = (&stream[..length], vec![]);
            while let Some((key, record)) = take_object(&mut pending) {
                let entry = record::decode_object(record).expect("a whole record");
                found.push((std::str::from_utf8(key).unwrap(), entry));
            }
            let whole = usize::from(length >= first) + usize::from(length == stream.len());
            assert_eq!(found, records[..whole], "of {length} bytes");
            assert_eq!(pending.len(), length - [0, first, stream.len()][whole]);
        }
    }

    #[test]
    fn batches_come_out_as_they_went_in() {
        let mut stream = BytesMut::new();
        put_batch(&mut stream, Revision::new(5), b"five");
        let mut cut = BytesMut::from(&stream[..stream.len() - 1]);
        assert_eq!(take_batch(&mut cut), None);
        assert_eq!(take_batch(&mut stream), Some((Revision::new(5), BytesMut::from(&b"five"[..]))));
        assert_eq!(take_batch(&mut stream), None);
    }
}
