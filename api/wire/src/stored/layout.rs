//! Offsets and the fixed part of the header, shared by writer and reader.

/// The format version this code writes, and the only one it reads.
pub const FORMAT_VERSION: u8 = 1;

/// Bytes before the lengths of the header texts.
pub(super) const FIXED_LEN: usize = 24;
/// Header texts that every object has: name, namespace, uid, deletion timestamp.
pub(super) const COMMON_TEXTS: usize = 4;
/// Header texts of one label or field.
pub(super) const PAIR_TEXTS: usize = 2;
/// The name of the field that is the mark; no selector can name it.
pub(super) const MARK_FIELD: &str = "";
/// Header texts of one owner reference.
pub(super) const OWNER_TEXTS: usize = 5;

/// The numbers in the fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    pub(super) labels: u16,
    pub(super) fields: u16,
    pub(super) owners: u16,
    pub(super) text_len: u32,
    pub(super) hole: u32,
    pub(super) metadata_start: u32,
    pub(super) metadata_end: u32,
}

impl Fixed {
    /// Number of header texts.
    pub(super) fn texts(&self) -> usize {
        COMMON_TEXTS
            + PAIR_TEXTS * (usize::from(self.labels) + usize::from(self.fields))
            + OWNER_TEXTS * usize::from(self.owners)
    }

    pub(super) fn to_bytes(self) -> [u8; FIXED_LEN] {
        let mut bytes = [0; FIXED_LEN];
        bytes[0] = FORMAT_VERSION;
        bytes[2..4].copy_from_slice(&self.labels.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.fields.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.owners.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.text_len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.hole.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.metadata_start.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.metadata_end.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; FIXED_LEN]) -> Self {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self {
            labels: short(2),
            fields: short(4),
            owners: short(6),
            text_len: long(8),
            hole: long(12),
            metadata_start: long(16),
            metadata_end: long(20),
        }
    }
}
