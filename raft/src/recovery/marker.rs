//! The recovery marker: the file that says that a recovery has begun, between which clusters, and
//! what must not be computed a second time.
//!
//! Layout: magic 8 bytes, crc32c (u32 LE) of the rest, postcard of [`Marker`]. Written beside and
//! renamed, so it is there whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use quorate_env::disk::Disk;
use quorate_store::{NodeId, Revision};
use serde::{Deserialize, Serialize};

use super::error::RecoveryError;
use crate::cluster::ClusterId;

const MAGIC: &[u8; 8] = b"QuoraRec";
/// Bytes before the record.
const HEADER_BYTES: usize = 12;

/// A recovery that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// The member.
    pub(super) node: NodeId,
    /// The cluster that is given up.
    pub(super) old: ClusterId,
    /// The cluster that takes its place.
    pub(super) new: ClusterId,
    /// The term of the new cluster's first vote; above everything that the member knew.
    pub(super) term: u64,
    /// The last revision that was surely committed.
    pub(super) certain: Revision,
}

/// Whether a recovery of the member in this folder has begun and not ended.
pub(crate) fn is_begun(disk: &dyn Disk, directory: &Path) -> io::Result<bool> {
    match disk.open(&path(directory)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The recovery that has begun, if one has.
pub(super) fn read(disk: &dyn Disk, directory: &Path) -> Result<Option<Marker>, RecoveryError> {
    let path = path(directory);
    let failed = |source| RecoveryError::Io { path: path.clone(), source };
    let file = match disk.open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = vec![0; usize::try_from(file.length().map_err(failed)?).unwrap_or(usize::MAX)];
    file.read_at(0, &mut bytes).map_err(failed)?;
    decode(&bytes).map(Some).ok_or(RecoveryError::Marker { path })
}

/// Makes it known, durably, that a recovery has begun.
pub(super) async fn write(
    disk: &dyn Disk,
    directory: &Path,
    marker: &Marker,
) -> Result<(), RecoveryError> {
    let path = path(directory);
    let failed = |source| RecoveryError::Io { path: path.clone(), source };
    let unfinished = path.with_extension("tmp");
    let file = disk.create(&unfinished).map_err(failed)?;
    file.write_at(0, &encode(marker)).map_err(failed)?;
    file.sync_data().await.map_err(failed)?;
    disk.rename(&unfinished, &path).map_err(failed)?;
    disk.sync_dir(directory).map_err(failed)
}

/// Makes it known that it has ended.
pub(super) fn remove(disk: &dyn Disk, directory: &Path) -> Result<(), RecoveryError> {
    let path = path(directory);
    let failed = |source| RecoveryError::Io { path: path.clone(), source };
    disk.remove(&path).map_err(failed)?;
    disk.sync_dir(directory).map_err(failed)
}

fn path(directory: &Path) -> PathBuf {
    directory.join("recovery")
}

fn encode(marker: &Marker) -> Vec<u8> {
    let record =
        postcard::to_stdvec(marker).expect("a vector grows and the record has no failing parts");
    [&MAGIC[..], &crc32c::crc32c(&record).to_le_bytes(), &record].concat()
}

fn decode(bytes: &[u8]) -> Option<Marker> {
    let (header, record) = bytes.split_at_checked(HEADER_BYTES)?;
    let (magic, crc) = header.split_at(MAGIC.len());
    let sound = magic == MAGIC && *crc == crc32c::crc32c(record).to_le_bytes();
    sound.then(|| postcard::from_bytes(record).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_env::disk::MemoryDisk;

    const MARKER: Marker = Marker {
        node: 3,
        old: ClusterId::new([1; 16]),
        new: ClusterId::new([2; 16]),
        term: 9,
        certain: Revision::new(77),
    };

    #[tokio::test]
    async fn it_is_there_whole_or_not_at_all() {
        let folder = Path::new("/data");
        for calls in 0..=5 {
            let disk = MemoryDisk::new();
            disk.crash_after(calls);
            let written = write(&disk, folder, &MARKER).await;
            assert_eq!(written.is_ok(), calls == 5, "{written:?}");
            for seed in 0..16 {
                let found = read(&disk.crash(seed), folder).unwrap();
                assert!(found.is_none_or(|found| found == MARKER), "{found:?}");
                assert!(calls < 5 || found.is_some());
            }
        }
    }

    #[tokio::test]
    async fn damage_is_not_read() {
        let (disk, folder) = (MemoryDisk::new(), Path::new("/data"));
        assert!(!is_begun(&disk, folder).unwrap());
        write(&disk, folder, &MARKER).await.unwrap();
        assert!(is_begun(&disk, folder).unwrap());
        disk.corrupt(&path(folder), HEADER_BYTES + 1);
        let error = read(&disk, folder).unwrap_err();
        assert_eq!(error.to_string(), "the marker of a recovery in /data/recovery is damaged");
        remove(&disk, folder).unwrap();
        assert_eq!(read(&disk, folder).unwrap(), None);
    }
}
