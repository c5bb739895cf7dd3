//! The segment header, in the first block: cluster, node and sequence of the segment, and the seed
//! of every checksum in it.
//!
//! Layout, little endian: magic 8 bytes, format u32, crc32c u32 of all other bytes, cluster 16
//! bytes, node u64, sequence u64, length u64; zeros up to [`HEADER_BYTES`]. Written and synced
//! before the segment gets its name, so it is never torn.

use std::path::Path;

use super::error::LogOpenError;
use super::options::LogIdentity;
use super::record::{u32_at, u64_at};
use crate::cluster::ClusterId;

/// Bytes before the first batch.
pub(super) const HEADER_BYTES: u64 = 4096;
/// The format that this version writes and reads.
pub(crate) const FORMAT: u32 = 2;
/// Bytes of the header that carry something.
pub(super) const USED_BYTES: usize = 56;
const MAGIC: &[u8; 8] = b"QuoraLog";

/// A segment's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) identity: LogIdentity,
    /// Its place in the log; never used twice.
    pub(super) sequence: u64,
    /// Bytes of the file.
    pub(super) length: u64,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; USED_BYTES] {
        let mut bytes = [0; USED_BYTES];
        bytes[0..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[16..32].copy_from_slice(self.identity.cluster.bytes());
        bytes[32..40].copy_from_slice(&self.identity.node.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.length.to_le_bytes());
        let crc = checksum(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Where every checksum in this segment starts from: different for each cluster, node and
    /// sequence.
    pub(super) fn seed(&self) -> u32 {
        crc32c::crc32c(&self.encode()[16..48])
    }

    /// Reads the header of the segment at `path`, which must be of `expected`.
    pub(super) fn decode(
        bytes: &[u8; USED_BYTES],
        path: &Path,
        expected: LogIdentity,
    ) -> Result<Self, LogOpenError> {
        if &bytes[0..8] != MAGIC {
            return Err(LogOpenError::corrupt(path, 0, "this is not a log segment"));
        }
        let format = u32_at(bytes, 8);
        if format != FORMAT {
            return Err(LogOpenError::Format {
                path: path.to_owned(),
                found: format,
                expected: FORMAT,
            });
        }
        if u32_at(bytes, 12) != checksum(bytes) {
            return Err(LogOpenError::corrupt(path, 0, "the segment header fails its checksum"));
        }
        let cluster = ClusterId::new(bytes[16..32].try_into().expect("the slice has 16 bytes"));
        let node = u64_at(bytes, 32);
        expected.check(LogIdentity { cluster, node }, path)?;
        Ok(Self { identity: expected, sequence: u64_at(bytes, 40), length: u64_at(bytes, 48) })
    }
}

fn checksum(bytes: &[u8; USED_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> SegmentHeader {
        let identity = LogIdentity { cluster: ClusterId::new([7; 16]), node: 2 };
        SegmentHeader { identity, sequence: 5, length: 65536 }
    }

    fn decode(bytes: &[u8; USED_BYTES], expected: LogIdentity) -> String {
        match SegmentHeader::decode(bytes, Path::new("segment"), expected) {
            Ok(found) => format!("{} {}", found.sequence, found.length),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn reads_its_own_and_refuses_others() {
        let header = header();
        let bytes = header.encode();
        assert_eq!(decode(&bytes, header.identity), "5 65536");
        let other = LogIdentity { node: 3, ..header.identity };
        assert_eq!(decode(&bytes, other), "log file segment belongs to node 2, not to node 3");
        let other = LogIdentity { cluster: ClusterId::new([8; 16]), ..header.identity };
        assert!(decode(&bytes, other).contains("belongs to cluster"));
        let mut newer = bytes;
        newer[8] = 3;
        assert_eq!(
            decode(&newer, header.identity),
            "log file segment has format 3; this version reads format 2"
        );
        for byte in (0..8).chain(12..USED_BYTES) {
            let mut damaged = bytes;
            damaged[byte] ^= 4;
            assert!(
                decode(&damaged, header.identity).contains("corrupt at offset 0"),
                "byte {byte}"
            );
        }
    }

    #[test]
    fn each_sequence_has_its_own_seed() {
        let header = header();
        assert_ne!(header.seed(), SegmentHeader { sequence: 6, ..header }.seed());
    }
}
