//! The log's writer: takes everything that waits, makes it durable with one write and one sync, and
//! completes the jobs in order.
//!
//! Invariants: a batch is written only after the one before it was synced; what is reported as
//! durable is in the index already; after the first failure nothing is written or synced again,
//! every job is refused, and the process is made to stop. The writer does not depend on where it
//! runs: on a thread, or as a task of a simulation.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use quorate_env::disk::Lock;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::batch::{self, BatchBuilder};
use super::hard_state::HardState;
use super::index::Place;
use super::options::{BATCH_BYTES, LogOptions};
use super::queue::{DurableReply, Job, Records};
use super::record::{self, RecordKind};
use super::recovery::WritePosition;
use super::segment::Segment;
use super::segment_header::HEADER_BYTES;
use super::segment_pool;
use super::shared::SharedLog;
use crate::types::Vote;

/// Most jobs taken at once, count.
const JOBS_AT_ONCE: usize = 4096;

/// The writer. Everything in it is its own; only `state` is shared.
pub(super) struct LogWriter {
    pub(super) options: LogOptions,
    pub(super) state: Arc<Mutex<SharedLog>>,
    pub(super) jobs: mpsc::UnboundedReceiver<Job>,
    pub(super) hard: HardState,
    pub(super) pool: segment_pool::SegmentPoolHandle,
    pub(super) next: segment_pool::Pending,
    pub(super) position: WritePosition,
    pub(super) builder: BatchBuilder,
    pub(super) unsynced: Vec<(record::RecordHeader, Place)>,
    pub(super) lock: Lock,
}

impl LogWriter {
    /// Writes until every handle is gone or one closes the log.
    pub(super) async fn run(mut self) {
        let mut jobs = Vec::new();
        while self.jobs.recv_many(&mut jobs, JOBS_AT_ONCE).await > 0 {
            let mut records = Vec::new();
            for job in jobs.drain(..) {
                match job {
                    Job::Records(job) => records.push(job),
                    Job::Vote(vote, reply) => {
                        self.make_durable(&mut records).await;
                        let result = self.save_vote(&vote).await;
                        drop(reply.send(result));
                    }
                    Job::Close(reply) => {
                        self.make_durable(&mut records).await;
                        self.save_committed();
                        return self.close(reply).await;
                    }
                }
            }
            self.make_durable(&mut records).await;
            self.save_committed();
        }
        self.pool.stop().await;
    }

    /// Unlocks the folder before it answers.
    async fn close(self, reply: DurableReply) {
        let result = self.healthy();
        self.pool.stop().await;
        drop(self.lock);
        drop(reply.send(result));
    }

    async fn make_durable(&mut self, jobs: &mut Vec<Records>) {
        if jobs.is_empty() {
            return;
        }
        let result = match self.healthy() {
            Ok(()) => self.write_all(jobs).await.map_err(|error| self.fail("write", &error)),
            failed => failed,
        };
        for job in jobs.drain(..) {
            job.done.complete(copy(&result));
            drop(job.permit);
        }
        self.pool.recycle(self.state.lock().durable.take_purged_segments());
    }

    async fn write_all(&mut self, jobs: &[Records]) -> io::Result<()> {
        for job in jobs {
            let mut rest = &job.bytes[..];
            while let Some(header) = record::parse(rest) {
                let (record, after) = rest.split_at(header.record_bytes());
                self.push(record).await?;
                rest = after;
            }
        }
        self.write_batch().await
    }

    /// Adds a record to the batch, after making room for it.
    async fn push(&mut self, record: &[u8]) -> io::Result<()> {
        loop {
            if self.builder.is_empty() && self.position.offset == HEADER_BYTES {
                let base = self.base()?;
                self.add(&base);
            }
            let body = self.builder.body() + record.len();
            let room = self.position.segment.header.length - self.position.offset;
            if batch::size_of(body) as u64 <= room
                && (self.builder.is_empty() || body <= BATCH_BYTES)
            {
                self.add(record);
                return Ok(());
            }
            if self.builder.is_empty() {
                self.next_segment(record.len()).await?;
            } else {
                self.write_batch().await?;
            }
        }
    }

    /// The record that starts a segment: what the log amounts to before it.
    fn base(&self) -> io::Result<Vec<u8>> {
        let (last, purged) = {
            let state = self.state.lock();
            (state.durable.last, state.durable.purged)
        };
        let mut bytes = Vec::new();
        record::append(&mut bytes, RecordKind::Base, last, |out| {
            out.extend(postcard::to_stdvec(&purged).map_err(io::Error::other)?);
            Ok::<_, io::Error>(())
        })?;
        Ok(bytes)
    }

    fn add(&mut self, record: &[u8]) {
        let segment = &self.position.segment;
        let (header, at) = self.builder.push(record, segment.seed);
        let offset = u32::try_from(self.position.offset + at as u64)
            .expect("segments are shorter than 4 GiB");
        let bytes = u32::try_from(record.len()).expect("records fit into segments");
        self.unsynced.push((header, Place { sequence: segment.header.sequence, offset, bytes }));
    }

    /// Goes on to the next segment and orders the one after it, long enough for a record of
    /// `record` bytes.
    async fn next_segment(&mut self, record: usize) -> io::Result<()> {
        let sequence = self.position.segment.header.sequence + 1;
        let next = match (&mut self.next).await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::StorageFull => {
                tracing::warn!(
                    "no space to make a log segment ahead; trying once more now that it is needed"
                );
                self.pool
                    .order(
                        sequence,
                        self.options.segment_bytes.min(self.position.segment.header.length),
                    )
                    .await
            }
            other => other,
        };
        let segment = next.map_err(|_| io::Error::other("the segment pool has stopped"))??;
        let length = following_length(&self.options, &segment, record);
        self.next = self.pool.order(sequence + 1, length);
        self.state.lock().durable.segments.insert(sequence, Arc::clone(&segment));
        self.position = WritePosition { segment, offset: HEADER_BYTES, batch: self.position.batch };
        Ok(())
    }

    /// One write, one sync; then the index follows.
    async fn write_batch(&mut self) -> io::Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        let WritePosition { segment, offset, batch } = &mut self.position;
        let (bytes, own) = self.builder.finish(*batch, segment.seed, *offset);
        segment.file.write_at(*offset, bytes)?;
        let begin = Instant::now();
        segment.file.sync_data().await?;
        if let Some(observer) = &self.options.observer {
            observer.synced(self.unsynced.len(), begin.elapsed());
        }
        *offset += own;
        *batch += 1;
        self.builder.clear();
        let mut state = self.state.lock();
        for (header, place) in self.unsynced.drain(..) {
            state.durable.apply(&header, place).map_err(io::Error::other)?;
        }
        let next = state.durable.next();
        state.tail.shrink(self.options.tail_bytes, next);
        Ok(())
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        self.healthy()?;
        self.hard.save_vote(vote).await.map_err(|error| self.fail("save the vote in", &error))?;
        self.state.lock().vote = Some(*vote);
        Ok(())
    }

    /// Notes the committed position once the entry that it names is durable.
    fn save_committed(&mut self) {
        let committed = {
            let state = self.state.lock();
            let next = state.durable.next();
            state.committed.filter(|committed| committed.index < next)
        };
        let Some(committed) = committed.filter(|_| committed != self.hard.saved) else {
            return;
        };
        if self.healthy().is_ok()
            && let Err(error) = self.hard.save_committed(committed)
        {
            self.fail("save the committed position in", &error);
        }
    }

    fn healthy(&self) -> io::Result<()> {
        match &self.state.lock().failed {
            Some(reason) => Err(io::Error::other(reason.clone())),
            None => Ok(()),
        }
    }

    /// Refuses everything from now on, and answers the error to tell.
    fn fail(&self, action: &str, error: &io::Error) -> io::Error {
        let directory = self.options.directory.display();
        let reason = format!("cannot {action} the log in {directory}: {error}");
        self.state.lock().failed = Some(reason.clone());
        self.options.fatal.report(reason.clone());
        io::Error::new(error.kind(), reason)
    }
}

/// How long the segment after `segment` should be, bytes.
pub(super) fn following_length(options: &LogOptions, segment: &Segment, record: usize) -> u64 {
    let usual = (2 * segment.header.length).min(options.segment_bytes);
    let needed = HEADER_BYTES + batch::size_of(record + batch::SECTOR_BYTES) as u64;
    usual.max(needed.next_multiple_of(HEADER_BYTES))
}

fn copy(result: &io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}
