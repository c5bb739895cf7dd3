//! The log handle: opens a log and gives its writer work. Cheap to clone; all clones are one log.
//!
//! Invariants: what is in memory changes under the lock together with the order of the writer's
//! queue; the queue is bounded by a budget of bytes. How openraft calls it is in `storage`.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::batch::BatchBuilder;
use super::error::LogOpenError;
use super::options::{LogOptions, RECORD_BYTES};
use super::queue::{Completion, DurableReply, Job, Records};
use super::read;
use super::record::{self, RecordKind};
use super::recovery::{WritePosition, recover};
use super::segment_header::HEADER_BYTES;
use super::segment_pool::{self, SegmentPool};
use super::shared::SharedLog;
use super::writer::{LogWriter, following_length};
use crate::types::{LogEntry, LogId, footprint};

/// Shortest segment that makes sense, bytes.
const MIN_SEGMENT_BYTES: u64 = 16 << 10;
/// Longest segment, bytes: offsets in it are kept in 32 bits.
const MAX_SEGMENT_BYTES: u64 = 1 << 30;

/// An open log. It stays open until [`Log::close`], or until the last clone is gone and the writer
/// has written what waits.
#[derive(Debug, Clone)]
pub struct Log {
    pub(super) state: Arc<Mutex<SharedLog>>,
    jobs: mpsc::UnboundedSender<Job>,
    budget: Arc<Semaphore>,
    queue_bytes: u32,
    max_bytes: u64,
}

impl Log {
    /// Opens the log in the folder, or makes a new one, and starts its writer where the disk says.
    pub async fn open(options: LogOptions) -> Result<Self, LogOpenError> {
        check(&options)?;
        let (reply, opened) = oneshot::channel();
        let (disk, path) = (Arc::clone(&options.disk), options.directory.clone());
        let worker = async move {
            match start(options).await {
                Ok((log, writer)) => {
                    drop(reply.send(Ok(log)));
                    writer.run().await;
                }
                Err(error) => drop(reply.send(Err(error))),
            }
        };
        disk.spawn("log-writer", Box::pin(worker)).map_err(LogOpenError::io(&path))?;
        opened.await.map_err(|_| {
            LogOpenError::io(&path)(io::Error::other("the log's writer did not start"))
        })?
    }

    /// Makes everything given so far durable and stops the writer; the folder can be opened again
    /// afterwards. The error says why it is not durable.
    pub async fn close(&self) -> io::Result<()> {
        let (reply, closed) = oneshot::channel();
        if self.jobs.send(Job::Close(reply)).is_err() {
            return Ok(());
        }
        closed.await.map_err(|_| closed_error())?
    }

    /// The first entry that waits to be made durable; `None` where all are.
    pub(crate) fn first_waiting(&self) -> Option<u64> {
        let state = self.state.lock();
        let next = state.durable.next();
        state.last.filter(|last| last.index >= next).map(|_| next)
    }

    /// The last entry that should be purged because the log takes more than
    /// [`LogOptions::max_bytes`]; `None` as long as it does not. Down to half of it, so that the
    /// next purge is far off.
    #[must_use]
    pub fn excess(&self) -> Option<u64> {
        self.state.lock().durable.excess(self.max_bytes)
    }

    /// Takes a share of the queue's budget, waiting for the writer if need be.
    pub(super) async fn reserve(&self, bytes: usize) -> io::Result<OwnedSemaphorePermit> {
        let share = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.queue_bytes);
        Arc::clone(&self.budget).acquire_many_owned(share).await.map_err(|_| closed_error())
    }

    /// Sends records to the writer. Call it with the state locked, so that both are in one order.
    pub(super) fn send(&self, state: &SharedLog, records: Records) -> io::Result<()> {
        match &state.failed {
            Some(reason) => Err(io::Error::other(reason.clone())),
            None => self.send_job(Job::Records(records)),
        }
    }

    /// Sends any job to the writer.
    pub(super) fn send_job(&self, job: Job) -> io::Result<()> {
        self.jobs.send(job).map_err(|_| closed_error())
    }

    /// Sends one record without a payload.
    pub(super) fn send_mark(
        &self,
        state: &SharedLog,
        kind: RecordKind,
        position: Option<LogId>,
        done: Completion,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        record::append(&mut bytes, kind, position, |_| Ok::<_, io::Error>(()))?;
        self.send(state, Records { bytes, done, permit: None })
    }

    /// Reads the part of a range that the log holds, up to `limit` bytes but at least one entry.
    pub(super) fn read(&self, range: Range<u64>, limit: usize) -> io::Result<Vec<LogEntry>> {
        let plan = read::plan(&self.state.lock(), range, limit)?;
        plan.read()
    }

    /// Sends a job to the writer and waits until it is durable.
    pub(super) async fn wait_durable(
        &self,
        send: impl FnOnce(&Self, DurableReply) -> io::Result<()>,
    ) -> io::Result<()> {
        let (reply, durable) = oneshot::channel();
        send(self, reply)?;
        durable.await.map_err(|_| io::Error::other("the log was closed before this was durable"))?
    }
}

/// Encodes entries as records, and answers the size of each.
pub(super) fn encode(entries: &[LogEntry]) -> io::Result<(Vec<u8>, Vec<usize>)> {
    let room =
        entries.iter().map(|entry| record::MAX_OVERHEAD_BYTES + footprint(&entry.payload)).sum();
    let (mut bytes, mut sizes) = (Vec::with_capacity(room), Vec::with_capacity(entries.len()));
    for entry in entries {
        let start = bytes.len();
        record::append(&mut bytes, RecordKind::Entry, Some(entry.log_id), |out| {
            *out = postcard::to_extend(&entry.payload, std::mem::take(out))
                .map_err(io::Error::other)?;
            Ok::<_, io::Error>(())
        })?;
        let size = bytes.len() - start;
        if size > RECORD_BYTES {
            let reason = format!(
                "log entry {} has {size} bytes; the limit is {RECORD_BYTES}",
                entry.log_id.index
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        sizes.push(size);
    }
    Ok((bytes, sizes))
}

async fn start(options: LogOptions) -> Result<(Log, LogWriter), LogOpenError> {
    let path = options.directory.clone();
    let recovered = recover(&options).await?;
    let (mut pool, orders) =
        SegmentPool::new(options.clone(), recovered.prepared, recovered.spares);
    let mut durable = recovered.durable;
    let position = match recovered.position {
        Some(position) => position,
        None => {
            let segment =
                pool.make(1, options.first_segment_bytes).await.map_err(LogOpenError::io(&path))?;
            durable.segments.insert(1, Arc::clone(&segment));
            WritePosition { segment, offset: HEADER_BYTES, batch: 1 }
        }
    };
    options.disk.spawn("log-segments", Box::pin(pool.run())).map_err(LogOpenError::io(&path))?;
    orders.recycle(durable.take_purged_segments());
    let next = order_next(&options, &orders, &position);
    let committed = recovered.hard.saved;
    let state = Arc::new(Mutex::new(SharedLog::recovered(durable, recovered.vote, committed)));
    let (jobs, queue) = mpsc::unbounded_channel();
    let queue_bytes = u32::try_from(options.queue_bytes).unwrap_or(u32::MAX);
    let max_bytes = options.max_bytes;
    let budget = Arc::new(Semaphore::new(queue_bytes as usize));
    let writer = LogWriter {
        options,
        state: Arc::clone(&state),
        jobs: queue,
        hard: recovered.hard,
        pool: orders,
        next,
        position,
        builder: BatchBuilder::new(),
        unsynced: Vec::new(),
        lock: recovered.lock,
    };
    Ok((Log { state, jobs, budget, queue_bytes, max_bytes }, writer))
}

fn order_next(
    options: &LogOptions,
    orders: &segment_pool::SegmentPoolHandle,
    position: &WritePosition,
) -> segment_pool::Pending {
    let segment = &position.segment;
    orders.order(segment.header.sequence + 1, following_length(options, segment, 0))
}

fn check(options: &LogOptions) -> Result<(), LogOpenError> {
    let whole = |bytes: u64| {
        bytes.is_multiple_of(HEADER_BYTES)
            && (MIN_SEGMENT_BYTES..=MAX_SEGMENT_BYTES).contains(&bytes)
    };
    if whole(options.segment_bytes) && whole(options.first_segment_bytes) {
        return Ok(());
    }
    let detail = format!(
        "segments must be a multiple of {HEADER_BYTES} bytes, from {MIN_SEGMENT_BYTES} to {MAX_SEGMENT_BYTES}; got {} and {}",
        options.first_segment_bytes, options.segment_bytes
    );
    Err(LogOpenError::Options { path: options.directory.clone(), detail })
}

fn closed_error() -> io::Error {
    io::Error::other("the log is closed")
}
