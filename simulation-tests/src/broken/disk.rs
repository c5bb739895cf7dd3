//! A disk that breaks one promise of the disk seam.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use quorate_env::disk::{Disk, File, Lock, MemoryDisk, Pause, Worker};

use super::Broken;

/// Syncs of a new file that are carried out, so that it is there after a crash with nothing in it.
const HONEST_SYNCS: u64 = 2;
/// Writes of the vote that are carried out.
const REMEMBERED_VOTES: u64 = 4;
/// The unit of the log's writes, bytes.
const SECTOR_BYTES: u64 = 512;

/// What the disk lies about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    LogSyncs,
    StateSyncs,
    FolderSyncs,
    FailedSyncs,
    Votes,
    LastBatch,
}

impl Lie {
    /// The lie of a variant.
    pub(super) fn of(broken: Broken) -> Option<Self> {
        match broken {
            Broken::LyingFsync => Some(Self::LogSyncs),
            Broken::LyingStateSync => Some(Self::StateSyncs),
            Broken::LyingDirSync => Some(Self::FolderSyncs),
            Broken::IgnoredSyncFailure => Some(Self::FailedSyncs),
            Broken::ForgottenVote => Some(Self::Votes),
            Broken::OvercutLog | Broken::ForgetfulRecovery => Some(Self::LastBatch),
            _ => None,
        }
    }
}

/// The disk that breaks a promise.
#[derive(Debug)]
pub(super) struct LyingDisk {
    disk: MemoryDisk,
    lie: Lie,
}

impl LyingDisk {
    pub(super) fn new(disk: MemoryDisk, lie: Lie) -> Self {
        Self { disk, lie }
    }

    fn lying(&self, file: Arc<dyn File>, path: &Path, honest_syncs: u64) -> Arc<dyn File> {
        let about_votes = self.lie == Lie::Votes && path.ends_with("log/vote");
        let is_in = |folder| path.parent().is_some_and(|parent| parent.ends_with(folder));
        let is_journal =
            || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal-"));
        let (about_syncs, honest_syncs) = match self.lie {
            Lie::LogSyncs => (is_in("log"), honest_syncs),
            // Of each segment there are few.
            Lie::StateSyncs => (is_in("state") && is_journal(), 0),
            _ => (false, 0),
        };
        Arc::new(LyingFile {
            file,
            lie: self.lie,
            about_syncs,
            honest_syncs: AtomicU64::new(honest_syncs),
            honest_writes: AtomicU64::new(if about_votes { REMEMBERED_VOTES } else { u64::MAX }),
        })
    }
}

#[derive(Debug)]
struct LyingFile {
    file: Arc<dyn File>,
    lie: Lie,
    about_syncs: bool,
    honest_syncs: AtomicU64,
    honest_writes: AtomicU64,
}

/// Whether there was something left to take one of.
fn take(count: &AtomicU64) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

#[async_trait]
impl File for LyingFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if take(&self.honest_writes) { self.file.write_at(offset, bytes) } else { Ok(()) }
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_deaf() { Ok(()) } else { self.told(self.file.sync()) }
    }

    async fn sync_data(&self) -> io::Result<()> {
        if self.is_deaf() { Ok(()) } else { self.told(self.file.sync_data().await) }
    }
}

impl LyingFile {
    /// Whether a sync is not carried out.
    fn is_deaf(&self) -> bool {
        self.about_syncs && !take(&self.honest_syncs)
    }

    /// What is said of a sync that was carried out.
    fn told(&self, synced: io::Result<()>) -> io::Result<()> {
        match synced {
            Err(error)
                if self.lie == Lie::FailedSyncs && error.to_string().contains("sync failure") =>
            {
                Ok(())
            }
            other => other,
        }
    }
}

impl Disk for LyingDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(directory)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(self.lying(self.disk.create(path)?, path, HONEST_SYNCS))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path)?;
        if self.lie == Lie::LastBatch
            && path.extension().is_some_and(|extension| extension == "log")
        {
            blank_the_end(&*file)?;
        }
        Ok(self.lying(file, path, 0))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        if self.lie == Lie::FolderSyncs { Ok(()) } else { self.disk.sync_dir(directory) }
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.disk.lock(path)
    }

    fn spawn(&self, name: &str, worker: Worker) -> io::Result<()> {
        self.disk.spawn(name, worker)
    }

    fn pause(&self, time: Duration) -> Pause {
        self.disk.pause(time)
    }
}

/// Blanks the last sector of a segment that is not blank, if it is not the first two.
fn blank_the_end(file: &dyn File) -> io::Result<()> {
    let sectors = file.length()? / SECTOR_BYTES;
    for sector in (2..sectors).rev() {
        let mut bytes = [0; SECTOR_BYTES as usize];
        file.read_at(sector * SECTOR_BYTES, &mut bytes)?;
        if bytes.iter().any(|byte| *byte != 0) {
            return file.write_at(sector * SECTOR_BYTES, &[0; SECTOR_BYTES as usize]);
        }
    }
    Ok(())
}
