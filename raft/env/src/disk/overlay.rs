//! A disk on top of another one that is only read: what is written stays in memory.
//!
//! Invariants: the other disk is never changed, whatever is made, written, renamed, removed or locked
//! here. Memory holds the blocks that were written, and no others.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::seam::{BLOCK_BYTES, Disk, File, Lock, Pause, Worker};

/// The same as a position in a file.
const BLOCK: u64 = BLOCK_BYTES as u64;

/// The disk. Clones share what was written.
#[derive(Debug, Clone)]
pub struct OverlayDisk {
    below: Arc<dyn Disk>,
    /// The files that were opened here, or made; `None` for a name that is there no more.
    names: Arc<Mutex<BTreeMap<PathBuf, Option<Arc<OverlayFile>>>>>,
}

#[derive(Debug)]
struct OverlayFile {
    below: Option<Arc<dyn File>>,
    written: Mutex<Written>,
}

/// What was written to a file.
#[derive(Debug, Default)]
struct Written {
    length: u64,
    /// Whole blocks by their number.
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl OverlayDisk {
    /// A disk that has what the other one has.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>) -> Self {
        Self { below, names: Arc::default() }
    }

    fn file(&self, path: &Path) -> io::Result<Arc<OverlayFile>> {
        let mut names = self.names.lock();
        match names.get(path) {
            Some(Some(file)) => return Ok(file.clone()),
            Some(None) => return Err(io::ErrorKind::NotFound.into()),
            None => {}
        }
        let below = self.below.open(path)?;
        let written = Mutex::new(Written { length: below.length()?, ..Written::default() });
        let file = Arc::new(OverlayFile { below: Some(below), written });
        names.insert(path.to_owned(), Some(file.clone()));
        Ok(file)
    }
}

impl OverlayFile {
    /// A block as it is now; what is behind the end is zero.
    fn block(&self, written: &Written, number: u64) -> io::Result<Vec<u8>> {
        if let Some(block) = written.blocks.get(&number) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK_BYTES];
        if let Some(below) = &self.below {
            let begin = number * BLOCK;
            let there = below.length()?.saturating_sub(begin).min(BLOCK);
            let there = usize::try_from(there).map_err(io::Error::other)?;
            below.read_at(begin, &mut block[..there])?;
        }
        Ok(block)
    }
}

/// The parts of a range that lie in one block each: its number, and where in it they begin and end.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = offset + length as u64;
    (offset / BLOCK..end.div_ceil(BLOCK)).map(move |number| {
        let within = |position: u64| {
            let position = position.clamp(number * BLOCK, (number + 1) * BLOCK) - number * BLOCK;
            usize::try_from(position).unwrap_or(BLOCK_BYTES)
        };
        (number, within(offset)..within(end))
    })
}

#[async_trait]
impl File for OverlayFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let written = self.written.lock();
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > written.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = 0;
        for (number, range) in parts(offset, buffer.len()) {
            let block = self.block(&written, number)?;
            let next = at + range.len();
            buffer[at..next].copy_from_slice(&block[range]);
            at = next;
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock();
        let mut at = 0;
        for (number, range) in parts(offset, bytes.len()) {
            let mut block = self.block(&written, number)?;
            let next = at + range.len();
            block[range].copy_from_slice(&bytes[at..next]);
            written.blocks.insert(number, block);
            at = next;
        }
        written.length = written.length.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.written.lock().length)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for OverlayDisk {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let names = self.names.lock();
        let made =
            names.iter().filter(|(path, file)| file.is_some() && path.parent() == Some(directory));
        let mut all: Vec<PathBuf> = made.map(|(path, _)| path.clone()).collect();
        match self.below.list(directory) {
            Ok(below) => all.extend(below.into_iter().filter(|path| !names.contains_key(path))),
            // A folder that was made here is none there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        all.sort();
        Ok(all)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = Arc::new(OverlayFile { below: None, written: Mutex::default() });
        self.names.lock().insert(path.to_owned(), Some(file.clone()));
        Ok(file)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(self.file(path)?)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.file(from)?;
        let mut names = self.names.lock();
        names.insert(from.to_owned(), None);
        names.insert(to.to_owned(), Some(file));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.file(path)?;
        self.names.lock().insert(path.to_owned(), None);
        Ok(())
    }

    fn sync_dir(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _path: &Path) -> io::Result<Lock> {
        Ok(Box::new(()))
    }

    fn spawn(&self, name: &str, worker: Worker) -> io::Result<()> {
        self.below.spawn(name, worker)
    }

    fn pause(&self, time: Duration) -> Pause {
        self.below.pause(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;

    fn content(disk: &dyn Disk, path: &str) -> Option<Vec<u8>> {
        let file = disk.open(Path::new(path)).ok()?;
        let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        Some(bytes)
    }

    #[test]
    fn what_is_written_stays_above() {
        let below = MemoryDisk::new();
        let old: Vec<u8> = (0..10_000_u32).map(|number| (number % 251) as u8).collect();
        for name in ["/d/a", "/d/b", "/d/c"] {
            below.create(Path::new(name)).unwrap().write_at(0, &old).unwrap();
        }
        let calls = below.calls();
        let disk = OverlayDisk::new(Arc::new(below.clone()));
        let mut expect = old.clone();
        for (offset, bytes) in [(0, &b"x"[..]), (4090, &[7; 20]), (9_998, b"end"), (10_100, b"z")] {
            disk.open(Path::new("/d/a")).unwrap().write_at(offset, bytes).unwrap();
            let offset = usize::try_from(offset).unwrap();
            expect.resize(expect.len().max(offset + bytes.len()), 0);
            expect[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        assert_eq!(content(&disk, "/d/a"), Some(expect.clone()));
        disk.create(Path::new("/d/new")).unwrap().write_at(3, b"n").unwrap();
        disk.rename(Path::new("/d/a"), Path::new("/d/c")).unwrap();
        disk.remove(Path::new("/d/b")).unwrap();
        let names: Vec<_> = disk.list(Path::new("/d")).unwrap();
        assert_eq!(names, ["/d/c", "/d/new"].map(PathBuf::from));
        assert_eq!(content(&disk, "/d/c"), Some(expect));
        assert_eq!(content(&disk, "/d/new"), Some(b"\0\0\0n".to_vec()));
        assert_eq!(content(&disk, "/d/a"), None);
        assert!(disk.remove(Path::new("/d/b")).is_err());
        let past_end = disk.open(Path::new("/d/new")).unwrap().read_at(2, &mut [0; 3]);
        assert_eq!(past_end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        drop(disk.lock(Path::new("/d/lock")).unwrap());
        for name in ["/d/a", "/d/b", "/d/c"] {
            assert_eq!(content(&below, name), Some(old.clone()), "{name}");
        }
        assert_eq!(below.calls(), calls, "nothing was done to the disk below");
    }
}
