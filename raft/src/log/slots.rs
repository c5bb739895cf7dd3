//! A slot file: two copies of one small value, each under its own checksum, replaced as a whole.
//!
//! Layout: a slot at 0 and one at 4096, each little endian: magic u32, crc32c u32 of all that
//! follows, format u32, payload length u32, cluster 16 bytes, node u64, generation u64, payload.
//! The newest whole slot counts.
//!
//! Invariant: at most one slot is being written at a time, so a crash leaves the other one whole.
//! Which slot to write, and whether to sync, is the caller's decision.

use std::io;
use std::path::Path;
use std::sync::Arc;

use quorate_env::disk::{Disk, File};

use super::error::LogOpenError;
use super::options::LogIdentity;
use super::record::{u32_at, u64_at};
use super::segment_header::FORMAT;
use crate::cluster::ClusterId;

/// Slots in the file.
pub(super) const SLOTS: usize = 2;
/// Most bytes of a value.
pub(super) const VALUE_BYTES: usize = SLOT_BYTES - HEADER_BYTES;
const SLOT_BYTES: usize = 512;
const SLOT_DISTANCE: u64 = 4096;
const HEADER_BYTES: usize = 48;
const MAGIC: u32 = 0x544c_5351;

/// An open file of two slots.
#[derive(Debug)]
pub(super) struct SlotFile {
    file: Arc<dyn File>,
    identity: LogIdentity,
}

/// What one slot holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    /// Counts the values written; the highest is the newest.
    pub(super) generation: u64,
    /// The value.
    pub(super) value: Vec<u8>,
}

impl SlotFile {
    /// Makes the file with the same empty value of generation 0 in both slots, durable.
    pub(super) async fn create(
        disk: &dyn Disk,
        path: &Path,
        identity: LogIdentity,
    ) -> io::Result<Self> {
        let unfinished = path.with_extension("tmp");
        let file = disk.create(&unfinished)?;
        file.write_at(0, &[0; SLOT_DISTANCE as usize + SLOT_BYTES])?;
        let made = Self { file, identity };
        for slot in 0..SLOTS {
            made.write(slot, &Slot { generation: 0, value: Vec::new() })?;
        }
        made.sync().await?;
        disk.rename(&unfinished, path)?;
        if let Some(directory) = path.parent() {
            disk.sync_dir(directory)?;
        }
        Ok(made)
    }

    /// Opens the file and reads both slots; `None` for one that is damaged.
    pub(super) fn open(
        disk: &dyn Disk,
        path: &Path,
        identity: LogIdentity,
    ) -> Result<(Self, [Option<Slot>; SLOTS]), LogOpenError> {
        let file = disk.open(path).map_err(LogOpenError::io(path))?;
        let mut slots = [None, None];
        for (slot, found) in slots.iter_mut().enumerate() {
            let mut bytes = [0; SLOT_BYTES];
            file.read_at(offset(slot), &mut bytes).map_err(LogOpenError::io(path))?;
            *found = decode(&bytes, path, identity)?;
        }
        Ok((Self { file, identity }, slots))
    }

    /// Writes one slot. Durable only after [`SlotFile::sync`].
    pub(super) fn write(&self, slot: usize, content: &Slot) -> io::Result<()> {
        self.file.write_at(offset(slot), &encode(content, self.identity))
    }

    /// Makes what was written durable.
    pub(super) async fn sync(&self) -> io::Result<()> {
        self.file.sync_data().await
    }
}

/// The slot with the newest value, and which one it is.
pub(super) fn newest(slots: &[Option<Slot>; SLOTS]) -> Option<(usize, &Slot)> {
    let whole = slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.as_ref()?)));
    whole.max_by_key(|(_, slot)| slot.generation)
}

fn offset(slot: usize) -> u64 {
    slot as u64 * SLOT_DISTANCE
}

fn encode(content: &Slot, identity: LogIdentity) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[12] = u8::try_from(content.value.len() & 0xff).expect("masked to a byte");
    bytes[13] = u8::try_from(content.value.len() >> 8).expect("a value is smaller than a slot");
    bytes[16..32].copy_from_slice(identity.cluster.bytes());
    bytes[32..40].copy_from_slice(&identity.node.to_le_bytes());
    bytes[40..48].copy_from_slice(&content.generation.to_le_bytes());
    bytes[HEADER_BYTES..HEADER_BYTES + content.value.len()].copy_from_slice(&content.value);
    let crc = crc32c::crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(
    bytes: &[u8; SLOT_BYTES],
    path: &Path,
    expected: LogIdentity,
) -> Result<Option<Slot>, LogOpenError> {
    let length = u32_at(bytes, 12) as usize;
    let whole = u32_at(bytes, 0) == MAGIC
        && u32_at(bytes, 4) == crc32c::crc32c(&bytes[8..])
        && length <= VALUE_BYTES;
    if !whole {
        return Ok(None);
    }
    let found = u32_at(bytes, 8);
    if found != FORMAT {
        return Err(LogOpenError::Format { path: path.to_owned(), found, expected: FORMAT });
    }
    let cluster = ClusterId::new(bytes[16..32].try_into().expect("the slice has 16 bytes"));
    expected.check(LogIdentity { cluster, node: u64_at(bytes, 32) }, path)?;
    let value = bytes[HEADER_BYTES..HEADER_BYTES + length].to_vec();
    Ok(Some(Slot { generation: u64_at(bytes, 40), value }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_env::disk::MemoryDisk;

    const IDENTITY: LogIdentity = LogIdentity { cluster: ClusterId::new([1; 16]), node: 1 };

    #[tokio::test]
    async fn the_newest_whole_slot_counts() {
        let (disk, path) = (MemoryDisk::new(), Path::new("/log/vote"));
        let file = SlotFile::create(&disk, path, IDENTITY).await.unwrap();
        let value =
            |generation: u64| Slot { generation, value: generation.to_string().into_bytes() };
        file.write(0, &value(4)).unwrap();
        file.write(1, &value(5)).unwrap();
        let (_, slots) = SlotFile::open(&disk, path, IDENTITY).unwrap();
        assert_eq!(newest(&slots), Some((1, &value(5))));
        disk.corrupt(path, 4096 + HEADER_BYTES);
        let (_, slots) = SlotFile::open(&disk, path, IDENTITY).unwrap();
        assert_eq!(newest(&slots), Some((0, &value(4))));
        let other = LogIdentity { node: 2, ..IDENTITY };
        let error = SlotFile::open(&disk, path, other).unwrap_err();
        assert_eq!(error.to_string(), "log file /log/vote belongs to node 1, not to node 2");
    }
}
