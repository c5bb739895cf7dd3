//! A frame of a snapshot stream: kind, number, checksum, payload.
//!
//! Layout: kind (u8), sequence number from 0 (u32 LE), crc32c of kind, number and payload (u32 LE),
//! payload. Invariants: a frame never exceeds [`MAX_FRAME_BYTES`]; a damaged, lost, repeated or
//! reordered one is noticed. What payloads mean is described in `format.rs`.

use bytes::{BufMut, Bytes, BytesMut};

use super::SnapshotError;

/// Payload bytes of a full frame.
pub(super) const PAYLOAD_BYTES: usize = 1 << 20;
/// Bytes that a frame has at most: what a transport must let through.
pub const MAX_FRAME_BYTES: usize = HEADER_BYTES + PAYLOAD_BYTES;
/// Bytes before the payload.
const HEADER_BYTES: usize = 9;
/// Bytes beyond a full frame that its last record takes as a rule.
const ROOM_BYTES: usize = 16 << 10;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum StreamFrameKind {
    /// The header, alone in its frame; first.
    Header = 1,
    /// A piece of the object records.
    Objects = 2,
    /// A piece of the history records.
    History = 3,
    /// The trailer, alone in its frame; last.
    Trailer = 4,
}

/// A frame that arrived whole and in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StreamFrame<'a> {
    pub(super) kind: StreamFrameKind,
    pub(super) payload: &'a [u8],
}

/// The beginning of a frame, behind which its payload is appended.
pub(super) fn begin() -> BytesMut {
    let mut frame = BytesMut::with_capacity(MAX_FRAME_BYTES + ROOM_BYTES);
    frame.put_bytes(0, HEADER_BYTES);
    frame
}

/// Payload bytes behind the beginning of a frame.
pub(super) fn payload_bytes(frame: &BytesMut) -> usize {
    frame.len() - HEADER_BYTES
}

/// Finishes a frame that has its payload. What is too much for it begins the next one.
pub(super) fn finish(
    mut frame: BytesMut,
    kind: StreamFrameKind,
    sequence: u32,
) -> (Bytes, BytesMut) {
    let mut next = begin();
    next.put_slice(&frame[frame.len().min(MAX_FRAME_BYTES)..]);
    frame.truncate(MAX_FRAME_BYTES);
    let crc = checksum(kind as u8, sequence, &frame[HEADER_BYTES..]);
    let mut header = &mut frame[..HEADER_BYTES];
    header.put_u8(kind as u8);
    header.put_u32_le(sequence);
    header.put_u32_le(crc);
    (frame.freeze(), next)
}

/// Takes a frame apart that must have this number.
pub(super) fn decode(frame: &[u8], expected: u32) -> Result<StreamFrame<'_>, SnapshotError> {
    if frame.len() > MAX_FRAME_BYTES {
        return Err(SnapshotError::Damaged { frame: expected, what: "it is too large" });
    }
    let short = SnapshotError::Damaged { frame: expected, what: "it is too short" };
    let Some((header, payload)) = frame.split_first_chunk::<HEADER_BYTES>() else {
        return Err(short);
    };
    let [kind, s0, s1, s2, s3, c0, c1, c2, c3] = *header;
    let sequence = u32::from_le_bytes([s0, s1, s2, s3]);
    if checksum(kind, sequence, payload) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(SnapshotError::Damaged { frame: expected, what: "its checksum is wrong" });
    }
    if sequence != expected {
        return Err(SnapshotError::OutOfOrder { expected, found: sequence });
    }
    let kind = [
        StreamFrameKind::Header,
        StreamFrameKind::Objects,
        StreamFrameKind::History,
        StreamFrameKind::Trailer,
    ]
    .into_iter()
    .find(|k| *k as u8 == kind);
    let kind =
        kind.ok_or(SnapshotError::Damaged { frame: expected, what: "its kind is unknown" })?;
    Ok(StreamFrame { kind, payload })
}

fn checksum(kind: u8, sequence: u32, payload: &[u8]) -> u32 {
    let [a, b, c, d] = sequence.to_le_bytes();
    crc32c::crc32c_append(crc32c::crc32c(&[kind, a, b, c, d]), payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(kind: StreamFrameKind, sequence: u32, payload: &[u8]) -> Bytes {
        let mut frame = begin();
        frame.put_slice(payload);
        finish(frame, kind, sequence).0
    }

    #[test]
    fn what_is_too_much_begins_the_next_frame() {
        let check = |payload: usize, first: usize| {
            let mut frame = begin();
            frame.put_bytes(7, payload);
            let (frame, next) = finish(frame, StreamFrameKind::Objects, 0);
            assert_eq!(decode(&frame, 0).unwrap().payload, vec![7; first]);
            assert_eq!(payload_bytes(&next), payload - first);
        };
        check(0, 0);
        check(PAYLOAD_BYTES, PAYLOAD_BYTES);
        check(PAYLOAD_BYTES + 5, PAYLOAD_BYTES);
        check(3 * PAYLOAD_BYTES, PAYLOAD_BYTES);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let frame = encode(StreamFrameKind::Objects, 7, b"payload");
        assert_eq!(
            decode(&frame, 7).unwrap(),
            StreamFrame { kind: StreamFrameKind::Objects, payload: b"payload" }
        );
        for bit in 0..frame.len() * 8 {
            let mut damaged = frame.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged, 7).is_err(), "bit {bit}");
        }
        for length in 0..frame.len() {
            assert!(decode(&frame[..length], 7).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn order_and_size_are_checked() {
        let frame = encode(StreamFrameKind::History, 3, b"");
        assert!(matches!(
            decode(&frame, 2),
            Err(SnapshotError::OutOfOrder { expected: 2, found: 3 })
        ));
        let full = encode(StreamFrameKind::History, 3, &[0; PAYLOAD_BYTES]);
        assert!(decode(&full, 3).is_ok());
        assert!(decode(&[&full[..], &[0]].concat(), 3).is_err());
    }
}
