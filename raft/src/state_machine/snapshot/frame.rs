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

/// Builds a frame.
pub(super) fn encode(kind: StreamFrameKind, sequence: u32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEADER_BYTES + payload.len());
    frame.put_u8(kind as u8);
    frame.put_u32_le(sequence);
    frame.put_u32_le(checksum(kind as u8, sequence, payload));
    frame.put_slice(payload);
    frame.freeze()
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
        assert!(decode(&encode(StreamFrameKind::History, 3, &[0; PAYLOAD_BYTES]), 3).is_ok());
        assert!(decode(&encode(StreamFrameKind::History, 3, &[0; PAYLOAD_BYTES + 1]), 3).is_err());
    }
}
