//! The segment pool: makes segments ahead of the writer and recycles purged ones, so that the
//! writer never waits for zeros to be written.
//!
//! Invariants: a segment gets its name only when its header and all its zeros are durable; a purged
//! segment loses its name, durably and oldest first, before its bytes are touched, and is only
//! reused while no read holds it; one segment is in the making at a time.
//!
//! Zeros are really written: after a mere reservation of space the first sync over it waits for the
//! file system's journal.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_env::disk::{BLOCK_BYTES, File};
use tokio::sync::{mpsc, oneshot};

use super::options::{LogOptions, SPARE_SEGMENTS};
use super::segment::{Segment, path, spare_path, unfinished_path};
use super::segment_header::{HEADER_BYTES, SegmentHeader};

/// Zeros written at once, bytes.
const ZERO_BYTES: usize = 1 << 20;
/// Zeros between two syncs, bytes: small, so that the writer's syncs do not queue behind a large
/// one.
const ZERO_SYNC_BYTES: u64 = 4 << 20;

/// The writer's end. When it is dropped the pool stops at once, whatever it is making.
#[derive(Debug)]
pub(super) struct SegmentPoolHandle {
    orders: mpsc::UnboundedSender<Order>,
    stopped: oneshot::Receiver<()>,
}

/// A segment in the making.
pub(super) type Pending = oneshot::Receiver<io::Result<Arc<Segment>>>;

#[derive(Debug)]
enum Order {
    Make { sequence: u64, length: u64, reply: oneshot::Sender<io::Result<Arc<Segment>>> },
    Recycle(Vec<Arc<Segment>>),
}

/// Makes and takes back segments until its handle is dropped.
#[derive(Debug)]
pub(super) struct SegmentPool {
    options: LogOptions,
    orders: mpsc::UnboundedReceiver<Order>,
    prepared: VecDeque<Arc<Segment>>,
    spares: Vec<PathBuf>,
    blocked: bool,
    _running: oneshot::Sender<()>,
}

impl SegmentPoolHandle {
    /// Orders a segment of at least `length` bytes.
    pub(super) fn order(&self, sequence: u64, length: u64) -> Pending {
        let (reply, pending) = oneshot::channel();
        drop(self.orders.send(Order::Make { sequence, length, reply }));
        pending
    }

    /// Stops the pool and waits until it touches no file any more.
    pub(super) async fn stop(self) {
        drop(self.orders);
        drop(self.stopped.await);
    }

    /// Gives back purged segments, oldest first.
    pub(super) fn recycle(&self, segments: Vec<Arc<Segment>>) {
        if !segments.is_empty() {
            drop(self.orders.send(Order::Recycle(segments)));
        }
    }
}

impl SegmentPool {
    /// A pool that has some segments ready and may use the files `spares`, and the writer's end of
    /// it.
    pub(super) fn new(
        options: LogOptions,
        prepared: Vec<Arc<Segment>>,
        spares: Vec<PathBuf>,
    ) -> (Self, SegmentPoolHandle) {
        let (sender, orders) = mpsc::unbounded_channel();
        let (running, stopped) = oneshot::channel();
        let prepared = prepared.into();
        (
            Self { options, orders, prepared, spares, blocked: false, _running: running },
            SegmentPoolHandle { orders: sender, stopped },
        )
    }

    pub(super) async fn run(mut self) {
        while let Some(order) = self.orders.recv().await {
            match order {
                Order::Make { sequence, length, reply } => {
                    let result = self.make(sequence, length).await;
                    self.note_failure(&result);
                    drop(reply.send(result));
                }
                Order::Recycle(segments) => self.recycle(segments),
            }
        }
    }

    /// A disk that fails is not tried again. A full one is, when the segment is needed.
    fn note_failure(&self, result: &io::Result<Arc<Segment>>) {
        let directory = self.options.directory.display();
        match result {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                tracing::warn!(%directory, %error, "no space to make a log segment ahead");
            }
            Err(error) => self
                .options
                .fatal
                .report(format!("cannot make a log segment in {directory}: {error}")),
        }
    }

    fn recycle(&mut self, segments: Vec<Arc<Segment>>) {
        for segment in segments {
            if self.blocked {
                return;
            }
            if let Err(error) = self.reclaim(&segment) {
                tracing::warn!(%error, path = %segment.path.display(), "a purged log segment could not be taken back");
                self.blocked = true;
            }
        }
    }

    /// Makes a segment: one that an earlier run had made ahead, or from a spare one if there is one
    /// that is long enough.
    pub(super) async fn make(&mut self, sequence: u64, length: u64) -> io::Result<Arc<Segment>> {
        if let Some(prepared) =
            self.prepared.pop_front_if(|segment| segment.header.sequence == sequence)
        {
            return Ok(prepared);
        }
        let (from, file, length) = match self.take_spare(length) {
            Some(spare) => spare,
            None => self.new_file(sequence, length).await?,
        };
        let header = SegmentHeader { identity: self.options.identity, sequence, length };
        let mut block = vec![0; usize::try_from(HEADER_BYTES).expect("the header is small")];
        let encoded = header.encode();
        block[..encoded.len()].copy_from_slice(&encoded);
        file.write_at(0, &block)?;
        file.sync_data().await?;
        let path = path(&self.options.directory, sequence);
        self.options.disk.rename(&from, &path)?;
        self.options.disk.sync_dir(&self.options.directory)?;
        Ok(Arc::new(Segment::new(header, path, file)))
    }

    fn take_spare(&mut self, length: u64) -> Option<(PathBuf, Arc<dyn File>, u64)> {
        while let Some(path) = self.spares.pop() {
            let opened = self.options.disk.open(&path).and_then(|file| Ok((file.length()?, file)));
            match opened {
                Ok((found, file)) if found >= length => return Some((path, file, found)),
                _ => self.remove(&path),
            }
        }
        None
    }

    async fn new_file(
        &self,
        sequence: u64,
        length: u64,
    ) -> io::Result<(PathBuf, Arc<dyn File>, u64)> {
        let path = unfinished_path(&self.options.directory, sequence);
        let file = self.options.disk.create(&path)?;
        match zero(file.as_ref(), length, || self.orders.is_closed()).await {
            Ok(()) => Ok((path, file, length)),
            Err(error) => {
                self.remove(&path);
                Err(error)
            }
        }
    }

    /// Takes the name of a purged segment away, durably, before the next one loses its own. If that
    /// fails the rest keeps its names until the next start, for a gap between them would look like
    /// a loss.
    fn reclaim(&mut self, segment: &Arc<Segment>) -> io::Result<()> {
        let disk = self.options.disk.as_ref();
        let unread = Arc::strong_count(segment) == 1;
        if unread
            && self.spares.len() < SPARE_SEGMENTS
            && segment.header.length >= self.options.segment_bytes
        {
            let spare = spare_path(&self.options.directory, segment.header.sequence);
            disk.rename(&segment.path, &spare)?;
            self.spares.push(spare);
        } else {
            disk.remove(&segment.path)?;
        }
        disk.sync_dir(&self.options.directory)
    }

    fn remove(&self, path: &Path) {
        if let Err(error) = self.options.disk.remove(path) {
            tracing::warn!(%error, path = %path.display(), "an unused log file could not be removed");
        }
    }
}

async fn zero(file: &dyn File, length: u64, stop: impl Fn() -> bool) -> io::Result<()> {
    let memory = vec![0; ZERO_BYTES + BLOCK_BYTES];
    // Blocks in memory, so that the disk can take them from there.
    let zeros = &memory[memory.as_ptr().align_offset(BLOCK_BYTES) % BLOCK_BYTES..][..ZERO_BYTES];
    let mut offset = 0;
    while offset < length {
        if stop() {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let bytes =
            usize::try_from(length - offset).map_or(ZERO_BYTES, |left| left.min(ZERO_BYTES));
        file.write_at(offset, &zeros[..bytes])?;
        offset += bytes as u64;
        if offset == length || offset % ZERO_SYNC_BYTES == 0 {
            file.sync_data().await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterId;
    use crate::log::options::LogIdentity;
    use quorate_env::Fatal;
    use quorate_env::disk::{Disk, MemoryDisk};

    fn pool(disk: &MemoryDisk) -> (SegmentPool, SegmentPoolHandle) {
        let identity = LogIdentity { cluster: ClusterId::new([1; 16]), node: 1 };
        let mut options = LogOptions::new(Arc::new(disk.clone()), "/log", identity, Fatal::new());
        options.segment_bytes = 8192;
        SegmentPool::new(options, Vec::new(), Vec::new())
    }

    fn files(disk: &MemoryDisk) -> Vec<String> {
        let paths = disk.list(Path::new("/log")).unwrap();
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn a_purged_segment_is_used_again_under_another_name_and_seed() {
        let disk = MemoryDisk::new();
        let (mut pool, _handle) = pool(&disk);
        let first = pool.make(1, 8192).await.unwrap();
        let seed = first.seed;
        pool.reclaim(&first).unwrap();
        assert_eq!(files(&disk), ["spare-0000000000000001.log"]);
        let second = pool.make(2, 8192).await.unwrap();
        assert_eq!(files(&disk), ["segment-0000000000000002.log"]);
        assert_ne!(second.seed, seed);
    }

    #[tokio::test]
    async fn a_segment_that_is_read_is_removed_instead() {
        let disk = MemoryDisk::new();
        let (mut pool, _handle) = pool(&disk);
        let first = pool.make(1, 8192).await.unwrap();
        let reader = Arc::clone(&first);
        pool.reclaim(&first).unwrap();
        assert_eq!(files(&disk), Vec::<String>::new());
        reader.file.read_at(0, &mut [0; 8]).unwrap();
    }

    #[tokio::test]
    async fn a_full_disk_and_a_stop_leave_no_half_made_segment() {
        let disk = MemoryDisk::new();
        disk.set_capacity(Some(10_000));
        let (mut pool, handle) = pool(&disk);
        assert_eq!(
            pool.make(1, 2 * ZERO_BYTES as u64).await.unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        disk.set_capacity(None);
        drop(handle);
        assert_eq!(
            pool.make(1, 2 * ZERO_BYTES as u64).await.unwrap_err().kind(),
            io::ErrorKind::Interrupted
        );
        assert_eq!(files(&disk), Vec::<String>::new());
    }
}
