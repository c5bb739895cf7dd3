//! The real disk: the operating system's files, and a named thread for each background component.
//!
//! Calls block; that is why components run on threads of their own. Reads by others are short and mostly served by the page cache.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::seam::{Disk, File, Lock, Worker};

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

#[derive(Debug)]
struct SystemFile(fs::File);

#[async_trait]
impl File for SystemFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    async fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl Disk for SystemDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(path)?;
        missing.iter().filter_map(|made| made.parent()).try_for_each(|parent| match parent.as_os_str().is_empty() {
            true => self.sync_dir(Path::new(".")),
            false => self.sync_dir(parent),
        })
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths =
            fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(SystemFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).write(true).open(path)?;
        Ok(Arc::new(SystemFile(file)))
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
        std::thread::Builder::new().name(name.to_owned()).spawn(move || futures::executor::block_on(worker))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
    fn a_folder_is_locked_until_the_guard_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let guard = SystemDisk.lock(&path).unwrap();
        assert_eq!(SystemDisk.lock(&path).err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(guard);
        SystemDisk.lock(&path).unwrap();
    }
}
