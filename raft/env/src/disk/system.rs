//! The real disk: the operating system's files, and a named thread for each background component.
//!
//! Calls block; that is why components run on threads of their own. Reads by other threads are
//! short and mostly served by the page cache. Long writes of whole blocks go to a new file past
//! that cache (`O_DIRECT`), where the file system allows it: a copy would cost more than the write.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::seam::{BLOCK_BYTES, Disk, File, Lock, Pause, Worker};

/// Fewer bytes than this go through the page cache.
const DIRECT_BYTES: usize = 128 << 10;

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

#[derive(Debug)]
struct SystemFile {
    file: fs::File,
    /// The same file, if the disk may take bytes directly from memory.
    direct: Option<fs::File>,
}

#[async_trait]
impl File for SystemFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let direct = self
            .direct
            .as_ref()
            .filter(|_| bytes.len() >= DIRECT_BYTES && is_in_blocks(offset, bytes));
        match direct.map(|direct| direct.write_all_at(bytes, offset)) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if error.kind() == io::ErrorKind::StorageFull => Err(error),
            // Whatever else is wrong, the ordinary way finds out as well, or does without.
            Some(Err(_)) | None => self.file.write_all_at(bytes, offset),
        }
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Opens a file for what the disk takes directly.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> Option<fs::File> {
    fs::File::options().write(true).custom_flags(libc::O_DIRECT).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path) -> Option<fs::File> {
    None
}

/// Whether these bytes lie in memory as the disk wants them, and are whole blocks of a file.
fn is_in_blocks(offset: u64, bytes: &[u8]) -> bool {
    offset.is_multiple_of(BLOCK_BYTES as u64)
        && bytes.len().is_multiple_of(BLOCK_BYTES)
        && bytes.as_ptr().align_offset(BLOCK_BYTES) == 0
}

impl Disk for SystemDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(path)?;
        missing.iter().filter_map(|made| made.parent()).try_for_each(|parent| {
            match parent.as_os_str().is_empty() {
                true => self.sync_dir(Path::new(".")),
                false => self.sync_dir(parent),
            }
        })
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = fs::read_dir(directory)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file =
            fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(SystemFile { file, direct: open_direct(path) }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).write(true).open(path)?;
        Ok(Arc::new(SystemFile { file, direct: None }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        fs::File::open(directory)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let file = fs::File::options().write(true).create(true).truncate(false).open(path)?;
        file.try_lock()?;
        Ok(Box::new(file))
    }

    fn spawn(&self, name: &str, worker: Worker) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || runtime.block_on(tokio::task::unconstrained(worker)))?;
        Ok(())
    }

    fn pause(&self, time: Duration) -> Pause {
        Box::pin(tokio::time::sleep(time))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn files_keep_what_was_written_where_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("b"), folder.path().join("a"));
        let file = SystemDisk.create(&old).unwrap();
        file.write_at(3, b"xyz").unwrap();
        futures::executor::block_on(file.sync_data()).unwrap();
        SystemDisk.rename(&old, &new).unwrap();
        SystemDisk.sync_dir(folder.path()).unwrap();
        assert_eq!(SystemDisk.list(folder.path()).unwrap(), vec![new.clone()]);
        let mut bytes = [0; 6];
        SystemDisk.open(&new).unwrap().read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"\0\0\0xyz");
        assert_eq!(file.read_at(1, &mut bytes).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_goes_past_the_cache_is_where_the_rest_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut memory = vec![7; 2 * DIRECT_BYTES];
        let begin = memory.as_ptr().align_offset(BLOCK_BYTES);
        let blocks = begin..begin + DIRECT_BYTES;
        let file = SystemDisk.create(&path).unwrap();
        // In the cache, on the disk, over both, and the ordinary way: not a block's place, and not
        // in memory as blocks are.
        file.write_at(0, &[1; 10]).unwrap();
        file.write_at(BLOCK_BYTES as u64, &memory[blocks.clone()]).unwrap();
        memory.fill(8);
        file.write_at(0, &memory[blocks.clone()]).unwrap();
        file.write_at(5, &[2; 3]).unwrap();
        file.write_at(1 + DIRECT_BYTES as u64, &memory[blocks]).unwrap();
        file.write_at(2 * DIRECT_BYTES as u64, &memory[begin + 1..][..DIRECT_BYTES]).unwrap();
        futures::executor::block_on(file.sync_data()).unwrap();
        let mut expect = vec![8; 3 * DIRECT_BYTES];
        expect[5..8].fill(2);
        expect[DIRECT_BYTES] = 7;
        assert!(fs::read(&path).unwrap() == expect);
    }

    #[test]
    fn a_component_pauses_until_the_time_is_over_or_it_is_woken() {
        let (done, ended) = std::sync::mpsc::channel();
        let (wake, woken) = futures::channel::oneshot::channel::<()>();
        let began = Instant::now();
        let worker = async move {
            SystemDisk.pause(Duration::from_millis(20)).await;
            done.send(began.elapsed()).ok();
            let woken = futures::future::select(woken, SystemDisk.pause(Duration::from_secs(600)));
            drop(woken.await);
            done.send(began.elapsed()).ok();
        };
        SystemDisk.spawn("pause", Box::pin(worker)).unwrap();
        assert!(ended.recv().unwrap() >= Duration::from_millis(20));
        wake.send(()).unwrap();
        assert!(ended.recv().unwrap() < Duration::from_secs(300));
    }

    #[test]
    fn a_component_rests_while_it_pauses() {
        let (done, ended) = std::sync::mpsc::channel();
        let worker = async move {
            let mut polls = 0;
            let mut pause = SystemDisk.pause(Duration::from_millis(50));
            let counted = std::future::poll_fn(|context| {
                polls += 1;
                pause.as_mut().poll(context)
            });
            counted.await;
            done.send(polls).ok();
        };
        SystemDisk.spawn("pause", Box::pin(worker)).unwrap();
        let polls = ended.recv().unwrap();
        assert!(polls <= 3, "polled {polls} times");
    }

    #[test]
    fn a_folder_is_locked_until_the_guard_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let guard = SystemDisk.lock(&path).unwrap();
        assert_eq!(SystemDisk.lock(&path).err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(guard);
        SystemDisk.lock(&path).unwrap();
    }
}
