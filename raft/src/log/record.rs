//! A record of the log: a header of fixed size and opaque bytes, under one checksum.
//!
//! Layout, little endian: payload length u32, crc32c u32, version u8, kind u8, flags u16 (bit 0: a
//! position is present), zero u32, term u64, node u64, index u64, payload, zeros up to a multiple
//! of 8. The checksum covers everything but itself and starts from the segment's seed, so a record
//! of a segment's earlier use never verifies in its next one.

use openraft::vote::RaftLeaderId;

use crate::types::LogId;

/// Bytes before the payload.
pub(super) const HEADER_BYTES: usize = 40;
/// Bytes that a record has besides its payload, at most.
pub(super) const MAX_OVERHEAD_BYTES: usize = HEADER_BYTES + ALIGNMENT;
/// The version of the layout above.
const VERSION: u8 = 1;
const HAS_POSITION: u16 = 1;
const ALIGNMENT: usize = 8;
const CRC: std::ops::Range<usize> = 4..8;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// First in each segment. Position: the last entry before it; payload: postcard of what had
    /// been purged (`Option<LogId>`).
    Base = 1,
    /// An entry at its position; payload: postcard of what it carries.
    Entry = 2,
    /// All entries after the position are void; all entries when there is none.
    Truncate = 3,
    /// All entries up to and with the position are void, and the log goes on after it.
    Purge = 4,
}

/// A record's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) kind: RecordKind,
    pub(super) position: Option<LogId>,
    payload: usize,
}

impl RecordHeader {
    /// Bytes of the whole record with its padding.
    pub(super) fn record_bytes(&self) -> usize {
        padded(self.payload)
    }

    /// The payload of the record that this is the header of.
    pub(super) fn payload<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        &record[HEADER_BYTES..HEADER_BYTES + self.payload]
    }
}

/// Appends a record without its checksum, which only the segment that it goes to can give. `write`
/// appends the payload.
pub(super) fn append<E>(
    out: &mut Vec<u8>,
    kind: RecordKind,
    position: Option<LogId>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.resize(start + HEADER_BYTES, 0);
    if let Err(error) = write(out) {
        out.truncate(start);
        return Err(error);
    }
    let payload = out.len() - start - HEADER_BYTES;
    out.resize(start + padded(payload), 0);
    let header = &mut out[start..start + HEADER_BYTES];
    header[0..4].copy_from_slice(&u32::try_from(payload).unwrap_or(u32::MAX).to_le_bytes());
    header[8] = VERSION;
    header[9] = kind as u8;
    if let Some(position) = position {
        header[10..12].copy_from_slice(&HAS_POSITION.to_le_bytes());
        header[16..24].copy_from_slice(&position.leader_id.term.to_le_bytes());
        header[24..32].copy_from_slice(&position.leader_id.node_id.to_le_bytes());
        header[32..40].copy_from_slice(&position.index.to_le_bytes());
    }
    Ok(())
}

/// Writes the checksum into a record that starts the slice, and answers its header.
pub(super) fn seal(record: &mut [u8], seed: u32) -> RecordHeader {
    let header = parse(record).expect("sealed records were appended by this file");
    let crc = checksum(&record[..header.record_bytes()], seed);
    record[CRC].copy_from_slice(&crc.to_le_bytes());
    header
}

/// The header of the record that starts the slice, its checksum not looked at. `None` when there is
/// no whole record.
pub(super) fn parse(bytes: &[u8]) -> Option<RecordHeader> {
    let header = bytes.get(..HEADER_BYTES)?;
    let payload = u32_at(header, 0) as usize;
    let kind = match header[9] {
        1 => RecordKind::Base,
        2 => RecordKind::Entry,
        3 => RecordKind::Truncate,
        4 => RecordKind::Purge,
        _ => return None,
    };
    if header[8] != VERSION || bytes.len() < padded(payload) {
        return None;
    }
    let flags = u16::from_le_bytes([header[10], header[11]]);
    let position = (flags & HAS_POSITION != 0)
        .then(|| log_id(u64_at(header, 16), u64_at(header, 24), u64_at(header, 32)));
    Some(RecordHeader { kind, position, payload })
}

/// The header of the record that starts the slice, if the checksum is right.
pub(super) fn verify(bytes: &[u8], seed: u32) -> Option<RecordHeader> {
    let header = parse(bytes)?;
    let record = &bytes[..header.record_bytes()];
    (u32_at(record, CRC.start) == checksum(record, seed)).then_some(header)
}

/// The position of an entry.
pub(super) fn log_id(term: u64, node: u64, index: u64) -> LogId {
    LogId { leader_id: RaftLeaderId::new(term, node), index }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("the slice has 4 bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the slice has 8 bytes"))
}

fn padded(payload: usize) -> usize {
    (HEADER_BYTES + payload).next_multiple_of(ALIGNMENT)
}

fn checksum(record: &[u8], seed: u32) -> u32 {
    let length = crc32c::crc32c_append(seed, &record[..CRC.start]);
    crc32c::crc32c_append(length, &record[CRC.end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: RecordKind, position: Option<LogId>, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out, kind, position, |out| {
            out.extend_from_slice(payload);
            Ok::<_, ()>(())
        })
        .unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read() {
        for (kind, position, payload) in [
            (RecordKind::Base, None, &b""[..]),
            (RecordKind::Entry, Some(log_id(3, 2, 99)), b"payload of any length"),
            (RecordKind::Truncate, None, b""),
            (RecordKind::Purge, Some(log_id(u64::MAX, 1, 0)), b""),
        ] {
            let mut bytes = record(kind, position, payload);
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            seal(&mut bytes, 7);
            let header = verify(&bytes, 7).unwrap();
            assert_eq!(
                (header.kind, header.position, header.payload(&bytes)),
                (kind, position, payload)
            );
            assert_eq!(header.record_bytes(), bytes.len());
        }
    }

    #[test]
    fn any_flipped_bit_another_seed_and_any_cut_are_noticed() {
        let mut bytes = record(RecordKind::Entry, Some(log_id(1, 1, 1)), b"0123456789");
        seal(&mut bytes, 7);
        assert!(verify(&bytes, 8).is_none());
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&damaged, 7).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(verify(&bytes[..length], 7).is_none(), "length {length}");
        }
    }

    #[test]
    fn a_payload_that_fails_leaves_nothing() {
        let mut out = vec![1];
        append(&mut out, RecordKind::Entry, None, |out| {
            out.push(2);
            Err(())
        })
        .unwrap_err();
        assert_eq!(out, [1]);
    }
}
