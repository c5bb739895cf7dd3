//! A disk in memory for tests and simulations: it loses what was not synced, tears writes, fills
//! up, and fails on demand.
//!
//! Invariants: single-threaded use gives the same outcome for the same calls and seeds; after a
//! crash every call on the old handle fails, and the disk that is found after the power cut is a
//! new value. Names become durable in the order in which they were changed, as on a journaling file
//! system. Components run as tasks of the current tokio runtime.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::faults::SeededRandom;
use super::inode::Inode;
use super::memory_state::{MemoryState, NameChange};
use super::seam::{Disk, File, Lock, Pause, Worker};

/// A disk in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<MemoryState>>,
}

#[derive(Debug)]
struct MemoryFile {
    state: Arc<Mutex<MemoryState>>,
    inode: usize,
}

/// A taken lock file.
struct LockGuard {
    state: Arc<Mutex<MemoryState>>,
    path: PathBuf,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.state.lock().locks.remove(&self.path);
    }
}

impl MemoryDisk {
    /// An empty disk without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The power is cut during the mutating call after `calls` further ones. What that call wrote
    /// is unsynced.
    pub fn crash_after(&self, calls: u64) {
        self.state.lock().faults.crash_after = Some(calls);
    }

    /// The sync of a file after `syncs` further ones fails, and what it should have made durable is
    /// lost.
    pub fn fail_sync_after(&self, syncs: u64) {
        self.state.lock().faults.fail_sync_after = Some(syncs);
    }

    /// The next sync of a file in this folder fails in the same way, or of none.
    pub fn fail_next_sync_in(&self, folder: Option<PathBuf>) {
        self.state.lock().faults.failing = folder;
    }

    /// Limits the bytes of all files together; `None` for no limit.
    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.state.lock().faults.capacity = bytes;
    }

    /// Bytes of all files together.
    #[must_use]
    pub fn used(&self) -> usize {
        self.state.lock().used()
    }

    /// Lets each sync of a file take this long (tokio time).
    pub fn set_sync_delay(&self, delay: Duration) {
        self.state.lock().faults.sync_delay = delay;
    }

    /// Mutating calls so far: the number of moments at which a crash could be placed.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Whether the power was cut.
    #[must_use]
    pub fn crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// Whether all of these files would outlast a power cut as they are; one that was removed may
    /// come back.
    pub fn is_synced(&self, which: impl Fn(&Path) -> bool) -> bool {
        let state = self.state.lock();
        let is_named = state.name_changes.iter().all(|change| match change {
            NameChange::Link(path, _) | NameChange::Rename(_, path) => !which(path),
            NameChange::Remove(_) => true,
        });
        is_named
            && state
                .names
                .iter()
                .all(|(path, inode)| !which(path) || state.inodes[*inode].is_synced())
    }

    /// Cuts the power and answers the disk as it is found afterwards: everything synced, and of the
    /// rest what the seed decides.
    #[must_use]
    pub fn crash(&self, seed: u64) -> Self {
        let mut state = self.state.lock();
        state.crashed = true;
        let mut random = SeededRandom::new(seed);
        let mut names = state.durable_names.clone();
        let kept = random.below(state.name_changes.len() + 1);
        for change in &state.name_changes[..kept] {
            change.apply(&mut names);
        }
        let reachable: BTreeSet<usize> = names.values().copied().collect();
        // What has no name any more is gone; what of it was synced is not worth a copy.
        let found = |(number, inode): (usize, &Inode)| {
            let gone = !reachable.contains(&number) && inode.is_synced();
            if gone { Inode::default() } else { inode.after_crash(&mut random) }
        };
        let inodes = state.inodes.iter().enumerate().map(found).collect();
        let found =
            MemoryState { inodes, durable_names: names.clone(), names, ..MemoryState::default() };
        Self { state: Arc::new(Mutex::new(found)) }
    }

    /// A disk of its own with everything that is on this one now, as a backup has it, without
    /// faults.
    #[must_use]
    pub fn copy(&self) -> Self {
        let state = self.state.lock();
        let (inodes, names) = (state.inodes.iter().map(Inode::copy).collect(), state.names.clone());
        Self {
            state: Arc::new(Mutex::new(MemoryState {
                inodes,
                durable_names: names.clone(),
                names,
                ..MemoryState::default()
            })),
        }
    }

    /// Flips the bits of one byte of a file, as a decaying medium does.
    pub fn corrupt(&self, path: &Path, offset: usize) {
        let mut state = self.state.lock();
        let Some(&inode) = state.names.get(path) else {
            return;
        };
        let flipped = !state.inodes[inode].current()[offset];
        state.inodes[inode].write(offset, &[flipped]);
        state.inodes[inode].sync();
    }

    /// Cuts a file off at this length, as a broken file system does.
    pub fn truncate(&self, path: &Path, length: usize) {
        let mut state = self.state.lock();
        let Some(&inode) = state.names.get(path) else {
            return;
        };
        state.inodes[inode].cut(length);
    }
}

#[async_trait]
impl File for MemoryFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state.lock();
        state.alive()?;
        let (start, content) = (position(offset)?, state.inodes[self.inode].current());
        let bytes = content.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.state.lock().write(self.inode, position(offset)?, bytes)
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.state.lock();
        state.alive()?;
        Ok(state.inodes[self.inode].current().len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        self.state.lock().sync(self.inode)
    }

    async fn sync_data(&self) -> io::Result<()> {
        let delay = self.state.lock().faults.sync_delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.sync()
    }
}

impl Disk for MemoryDisk {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        self.state.lock().alive()
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.state.lock();
        state.alive()?;
        Ok(state.names.keys().filter(|path| path.parent() == Some(directory)).cloned().collect())
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change_name(NameChange::Link(path.to_owned(), inode))?;
        Ok(Arc::new(MemoryFile { state: Arc::clone(&self.state), inode }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let inode = self.state.lock().inode(path)?;
        Ok(Arc::new(MemoryFile { state: Arc::clone(&self.state), inode }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.inode(from)?;
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.inode(path)?;
        state.change_name(NameChange::Remove(path.to_owned()))
    }

    fn sync_dir(&self, _directory: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.mutate()? {
            state.durable_names = state.names.clone();
            state.name_changes.clear();
        }
        state.alive()
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let mut state = self.state.lock();
        state.alive()?;
        if !state.locks.insert(path.to_owned()) {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        Ok(Box::new(LockGuard { state: Arc::clone(&self.state), path: path.to_owned() }))
    }

    fn spawn(&self, _name: &str, worker: Worker) -> io::Result<()> {
        tokio::spawn(worker);
        Ok(())
    }

    fn pause(&self, time: Duration) -> Pause {
        Box::pin(tokio::time::sleep(time))
    }
}

fn position(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        Path::new("/log").join(name)
    }

    #[tokio::test]
    async fn names_need_their_folder_synced() {
        let disk = MemoryDisk::new();
        disk.create(&path("kept")).unwrap();
        disk.sync_dir(Path::new("/log")).unwrap();
        disk.rename(&path("kept"), &path("renamed")).unwrap();
        let found = |seed| disk.crash(seed).list(Path::new("/log")).unwrap();
        let seen: BTreeSet<_> = (0..32).flat_map(found).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [path("kept"), path("renamed")]);
        assert!(disk.list(Path::new("/log")).is_err(), "the old handle is dead");
    }

    #[tokio::test]
    async fn a_file_is_synced_with_its_name_and_its_content() {
        let disk = MemoryDisk::new();
        let check = |expect: [bool; 2]| {
            assert_eq!(
                [path("a"), path("b")].map(|which| disk.is_synced(|path| path == which)),
                expect
            );
        };
        check([true, true]);
        let file = disk.create(&path("a")).unwrap();
        check([false, true]);
        disk.sync_dir(Path::new("/log")).unwrap();
        file.write_at(0, b"x").unwrap();
        check([false, true]);
        file.sync_data().await.unwrap();
        check([true, true]);
        disk.remove(&path("a")).unwrap();
        check([true, true]);
    }

    #[tokio::test]
    async fn a_full_disk_refuses_growth_but_not_overwriting() {
        let disk = MemoryDisk::new();
        let file = disk.create(&path("file")).unwrap();
        file.write_at(0, &[0; 100]).unwrap();
        disk.set_capacity(Some(100));
        file.write_at(50, &[1; 50]).unwrap();
        assert_eq!(file.write_at(99, &[1; 2]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[tokio::test]
    async fn the_power_goes_at_the_call_that_was_named() {
        let disk = MemoryDisk::new();
        let file = disk.create(&path("file")).unwrap();
        disk.sync_dir(Path::new("/log")).unwrap();
        disk.crash_after(1);
        file.write_at(0, b"a").unwrap();
        file.sync_data().await.unwrap_err();
        assert!(disk.crashed());
        assert_eq!(disk.calls(), 4);
    }
}
