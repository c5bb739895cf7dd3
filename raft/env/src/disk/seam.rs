//! The traits of the disk seam: a file system, its files, and the place where background components
//! run.
//!
//! Invariants that callers build on: a write is durable only after `sync_data` of its file answered
//! `Ok`; a name (made, renamed or removed) only after `sync_dir` of its folder did; after a sync
//! has failed nothing is known about the file, and a caller must not sync it a second time in the
//! hope of success. Nothing here caches or retries.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;

/// What file systems deal in, bytes: given a part of a block that is not in memory, they read it
/// first.
pub const BLOCK_BYTES: usize = 4096;

/// A background component's run loop.
pub type Worker = BoxFuture<'static, ()>;

/// A component's wait.
pub type Pause = BoxFuture<'static, ()>;

/// Held while a folder is in use; dropping it unlocks the folder.
pub type Lock = Box<dyn Send + Sync>;

/// An open file, read and written at positions. Shared by its readers and its one writer.
#[async_trait]
pub trait File: Send + Sync + fmt::Debug {
    /// Fills the buffer from `offset`. `UnexpectedEof` when the file ends before that.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all bytes at `offset`, extending the file if need be.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Bytes in the file.
    fn length(&self) -> io::Result<u64>;
    /// Makes everything written so far durable. Blocks.
    fn sync(&self) -> io::Result<()>;
    /// The same for tasks that can wait: on a disk whose syncs take simulated time it takes that.
    async fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }
}

/// A file system, and the place where the log's background components run.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Makes a folder and its parents, durably; fine if it is there.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// The paths of the files in a folder, sorted by name.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;
    /// Makes an empty file for reading and writing, emptying one that is there.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    /// Renames a file, replacing one at the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file; open handles keep reading it.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, directory: &Path) -> io::Result<()>;
    /// Takes the lock file at `path` for this process. `WouldBlock` when another holds it.
    fn lock(&self, path: &Path) -> io::Result<Lock>;
    /// Runs a component to its end: on a thread of its own for a disk whose calls block, as a task
    /// for a simulated one.
    fn spawn(&self, name: &str, worker: Worker) -> io::Result<()>;
    /// Waits that long; for components that [`Disk::spawn`] runs and nothing else. A component with
    /// a thread of its own rests on it, until then or until something else wakes it.
    fn pause(&self, time: Duration) -> Pause;
}
