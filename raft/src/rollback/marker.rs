//! The older-copy marker: the file that says that this disk is an older copy, so that a later start
//! knows it when the other voters have forgotten.
//!
//! It holds the reason, for the operator; only its presence counts. A recovery from a lost quorum,
//! which takes the disk as it is, removes it.

use std::io;
use std::path::{Path, PathBuf};

use quorate_env::disk::Disk;

/// Why the disk with this folder counts no longer, if it was found to be an older copy.
pub(crate) fn read(disk: &dyn Disk, directory: &Path) -> io::Result<Option<String>> {
    let file = match disk.open(&path(directory)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut reason = vec![0; usize::try_from(file.length()?).unwrap_or(usize::MAX)];
    file.read_at(0, &mut reason)?;
    Ok(Some(String::from_utf8_lossy(&reason).into_owned()))
}

/// Writes it, durably.
pub(super) async fn write(disk: &dyn Disk, directory: &Path, reason: &str) -> io::Result<()> {
    let file = disk.create(&path(directory))?;
    file.write_at(0, reason.as_bytes())?;
    file.sync_data().await?;
    disk.sync_dir(directory)
}

/// Removes it, if it is there.
pub(crate) fn remove(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    match disk.remove(&path(directory)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => disk.sync_dir(directory),
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join("older-copy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_env::disk::MemoryDisk;

    #[tokio::test]
    async fn it_stays_until_it_is_removed() {
        let (disk, folder) = (MemoryDisk::new(), Path::new("/data"));
        assert_eq!(read(&disk, folder).unwrap(), None);
        remove(&disk, folder).unwrap();
        write(&disk, folder, "forgotten").await.unwrap();
        let found = disk.crash(1);
        assert_eq!(read(&found, folder).unwrap().as_deref(), Some("forgotten"));
        remove(&found, folder).unwrap();
        assert_eq!(read(&found.crash(2), folder).unwrap(), None);
    }
}
