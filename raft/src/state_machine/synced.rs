//! Up to which entry the state is known to have survived its sync, in a file beside the database's own.
//!
//! Two things depend on it. A journal that is broken behind that entry was torn by a crash, and the log supplies the rest; one that is
//! broken before it has lost what was durable, and the node must not start. And what comes after that entry may be nowhere but in the
//! system's cache, even after a sync that failed, which leaves it marked as clean: a start writes it once more and syncs it.
//!
//! Layout: magic 8 bytes, crc32c (u32 LE) of the rest, postcard of the entry's position. Invariants: replaced whole, synced, and only
//! after the database's own sync answered that all went well; it is never ahead of the database.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, sync_at_once};
use crate::types::LogId;

const MAGIC: &[u8; 8] = b"QuoraSyn";
/// Bytes before the record.
const HEADER_BYTES: usize = 12;

/// The position in a database's folder. `None` when nothing was synced yet.
///
/// # Errors
/// `InvalidData` for a damaged file; what the disk says.
pub(super) fn read(disk: &dyn Disk, directory: &Path) -> io::Result<Option<LogId>> {
    let file = match disk.open(&path(directory)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut bytes = vec![0; usize::try_from(file.length()?).map_err(io::Error::other)?];
    file.read_at(0, &mut bytes)?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the note of what was synced is damaged");
    decode(&bytes).map(Some).ok_or_else(damaged)
}

/// Notes that everything up to this entry was synced.
pub(super) fn write(disk: &dyn Disk, directory: &Path, entry: LogId) -> io::Result<()> {
    let path = path(directory);
    let unfinished = path.with_extension("tmp");
    let file = disk.create(&unfinished)?;
    file.write_at(0, &encode(entry))?;
    sync_at_once(&*file)?;
    disk.rename(&unfinished, &path)?;
    disk.sync_dir(directory)
}

fn path(directory: &Path) -> PathBuf {
    directory.join("synced")
}

fn encode(entry: LogId) -> Vec<u8> {
    let record = postcard::to_stdvec(&entry).expect("a vector grows and the record has no failing parts");
    [&MAGIC[..], &crc32c::crc32c(&record).to_le_bytes(), &record].concat()
}

fn decode(bytes: &[u8]) -> Option<LogId> {
    let (header, record) = bytes.split_at_checked(HEADER_BYTES)?;
    let (magic, crc) = header.split_at(MAGIC.len());
    let sound = magic == MAGIC && *crc == crc32c::crc32c(record).to_le_bytes();
    sound.then(|| postcard::from_bytes(record).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;

    fn log_id(index: u64) -> LogId {
        LogId { leader_id: openraft::vote::RaftLeaderId::new(3, 1), index }
    }

    #[test]
    fn it_holds_the_newest_or_the_one_before() {
        let folder = Path::new("/state");
        let [one, two] = [1, 2].map(log_id);
        for calls in 0..=5 {
            let disk = MemoryDisk::new();
            assert_eq!(read(&disk, folder).unwrap(), None);
            write(&disk, folder, one).unwrap();
            disk.crash_after(calls);
            let written = write(&disk, folder, two).is_ok();
            for seed in 0..8 {
                let found = read(&disk.crash(seed), folder).unwrap();
                assert!(found == Some(two) || (!written && found == Some(one)), "{found:?} after {calls} calls");
            }
        }
    }

    #[test]
    fn damage_is_noticed() {
        let (disk, folder) = (MemoryDisk::new(), Path::new("/state"));
        write(&disk, folder, log_id(9)).unwrap();
        disk.corrupt(&path(folder), HEADER_BYTES);
        assert_eq!(read(&disk, folder).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
