//! The owner file and its sibling, the synced file: one record each, in the state's folder.
//!
//! [`OWNER`] holds the cluster that the state belongs to, and its current generation. [`SYNCED`]
//! holds the entry up to which the state is known to have survived its sync. Two things depend on
//! it. A journal that is broken behind that entry was torn by a crash, and the log supplies the
//! rest; one that is broken before it has lost what was durable, and the node must not start. And
//! what comes after that entry may be nowhere but in the system's cache, even after a sync that
//! failed, which leaves it marked as clean: a start writes it once more and syncs it. Written only
//! after the journal's own sync succeeded, so it is never ahead of the journal.
//!
//! Layout: magic 8 bytes, crc32c (u32 LE) of the rest, postcard of the record. Invariant: replaced
//! whole and synced.

use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use quorate_env::disk::Disk;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cluster::ClusterId;
use crate::types::LogId;

/// Bytes before the record.
const HEADER_BYTES: usize = 12;

/// The entry up to which everything is durable.
pub(super) const SYNCED: RecordFile<LogId> = RecordFile::new("synced", b"QuoraSyn");
/// The owner and the current generation.
pub(super) const OWNER: RecordFile<Owner> = RecordFile::new("owner", b"QuoraOwn");

/// The cluster and naming profile that the state belongs to, and its current generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) format: u32,
    pub(super) cluster: ClusterId,
    pub(super) naming: String,
    pub(super) generation: u64,
}

/// A file with one record.
pub(super) struct RecordFile<T> {
    name: &'static str,
    magic: &'static [u8; 8],
    fact: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> RecordFile<T> {
    const fn new(name: &'static str, magic: &'static [u8; 8]) -> Self {
        Self { name, magic, fact: PhantomData }
    }

    /// The fact in a state's folder. `None` when nothing was noted yet.
    ///
    /// # Errors
    /// `InvalidData` for a damaged file; what the disk says.
    pub(super) fn read(&self, disk: &dyn Disk, directory: &Path) -> io::Result<Option<T>> {
        let file = match disk.open(&self.path(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut bytes = vec![0; usize::try_from(file.length()?).map_err(io::Error::other)?];
        file.read_at(0, &mut bytes)?;
        let damaged = || {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the note {:?} is damaged", self.name),
            )
        };
        self.decode(&bytes).map(Some).ok_or_else(damaged)
    }

    /// Notes the fact in place of the one before.
    pub(super) fn write(&self, disk: &dyn Disk, directory: &Path, fact: &T) -> io::Result<()> {
        let path = self.path(directory);
        let unfinished = path.with_extension("tmp");
        let file = disk.create(&unfinished)?;
        file.write_at(0, &self.encode(fact))?;
        file.sync()?;
        disk.rename(&unfinished, &path)?;
        disk.sync_dir(directory)
    }

    fn path(&self, directory: &Path) -> PathBuf {
        directory.join(self.name)
    }

    fn encode(&self, fact: &T) -> Vec<u8> {
        let record =
            postcard::to_stdvec(fact).expect("a vector grows and the record has no failing parts");
        [&self.magic[..], &crc32c::crc32c(&record).to_le_bytes(), &record].concat()
    }

    fn decode(&self, bytes: &[u8]) -> Option<T> {
        let (header, record) = bytes.split_at_checked(HEADER_BYTES)?;
        let (magic, crc) = header.split_at(self.magic.len());
        let sound = magic == self.magic && *crc == crc32c::crc32c(record).to_le_bytes();
        sound.then(|| postcard::from_bytes(record).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_env::disk::MemoryDisk;

    fn log_id(index: u64) -> LogId {
        LogId { leader_id: openraft::vote::RaftLeaderId::new(3, 1), index }
    }

    #[test]
    fn it_holds_the_newest_or_the_one_before() {
        let folder = Path::new("/state");
        let [one, two] = [1, 2].map(log_id);
        for calls in 0..=5 {
            let disk = MemoryDisk::new();
            assert_eq!(SYNCED.read(&disk, folder).unwrap(), None);
            SYNCED.write(&disk, folder, &one).unwrap();
            disk.crash_after(calls);
            let written = SYNCED.write(&disk, folder, &two).is_ok();
            for seed in 0..8 {
                let found = SYNCED.read(&disk.crash(seed), folder).unwrap();
                assert!(
                    found == Some(two) || (!written && found == Some(one)),
                    "{found:?} after {calls} calls"
                );
            }
        }
    }

    #[test]
    fn damage_is_noticed() {
        let (disk, folder) = (MemoryDisk::new(), Path::new("/state"));
        SYNCED.write(&disk, folder, &log_id(9)).unwrap();
        disk.corrupt(&SYNCED.path(folder), HEADER_BYTES);
        assert_eq!(SYNCED.read(&disk, folder).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(OWNER.read(&disk, folder).unwrap(), None, "each is a file of its own");
    }
}
