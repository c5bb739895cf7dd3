//! A slow disk: the operating system's files, whose syncs take longer than they need.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use quorate_env::disk::{Disk, File, Lock, Pause, SystemDisk, Worker};

/// How much longer syncs take; those that wait notice a change.
#[derive(Debug, Default)]
pub(crate) struct SyncDelay {
    by: Mutex<Duration>,
    changed: Condvar,
}

impl SyncDelay {
    pub(crate) fn set(&self, by: Duration) {
        *self.by.lock().unwrap() = by;
        self.changed.notify_all();
    }

    /// Blocks, as a disk does.
    fn wait(&self) {
        let begin = Instant::now();
        let mut by = self.by.lock().unwrap();
        while let Some(left) = by.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
            by = self.changed.wait_timeout(by, left).unwrap().0;
        }
    }
}

/// The disk.
#[derive(Debug)]
pub(crate) struct SlowDisk(pub(crate) Arc<SyncDelay>);

#[derive(Debug)]
struct SlowFile {
    file: Arc<dyn File>,
    delay: Arc<SyncDelay>,
}

impl File for SlowFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn sync(&self) -> io::Result<()> {
        self.delay.wait();
        self.file.sync()
    }
}

impl SlowDisk {
    fn slow(&self, file: io::Result<Arc<dyn File>>) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SlowFile { file: file?, delay: self.0.clone() }))
    }
}

impl Disk for SlowDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        SystemDisk.create_dir(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        SystemDisk.list(directory)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.slow(SystemDisk.create(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        self.slow(SystemDisk.open(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove(path)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        self.0.wait();
        SystemDisk.sync_dir(directory)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        SystemDisk.lock(path)
    }

    fn spawn(&self, name: &str, worker: Worker) -> io::Result<()> {
        SystemDisk.spawn(name, worker)
    }

    fn pause(&self, time: Duration) -> Pause {
        SystemDisk.pause(time)
    }
}
