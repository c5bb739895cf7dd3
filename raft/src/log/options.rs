//! Log options: what a log is opened with, and the limits of everything it holds.
//!
//! Changing a limit here never changes the format on disk: segments carry their own length.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_env::Fatal;
use quorate_env::disk::Disk;
use quorate_store::NodeId;

use super::error::LogOpenError;
use super::observer::LogObserver;
use crate::cluster::ClusterId;

/// Length of a segment once the log has grown, bytes.
pub(super) const SEGMENT_BYTES: u64 = 64 << 20;
/// Length of the very first segment, bytes. Each one after it is twice as long, up to
/// [`SEGMENT_BYTES`], so that a new node starts at once.
pub(super) const FIRST_SEGMENT_BYTES: u64 = 4 << 20;
/// Recent entries kept in memory for replication, bytes as encoded. Entries that are not yet
/// durable are kept beyond it.
pub(super) const TAIL_BYTES: usize = 16 << 20;
/// Encoded entries that may wait for the writer, bytes; `append` waits above it.
pub(super) const QUEUE_BYTES: usize = 32 << 20;
/// Most bytes of one write, so that a burst does not make one long sync. A larger record goes
/// alone.
pub(super) const BATCH_BYTES: usize = 8 << 20;
/// Largest encoded entry, bytes. The replica refuses far smaller transactions before they get here.
pub(super) const RECORD_BYTES: usize = 64 << 20;
/// Most bytes of entries that one read answers, for replication or for the state machine; always at
/// least one entry.
pub(super) const READ_BYTES: usize = 4 << 20;
/// Bytes of segments beyond which the log is compacted, whatever number of entries that leaves.
pub(super) const MAX_BYTES: u64 = 1 << 30;
/// Purged segments that are kept for use again, count; more are removed.
pub(super) const SPARE_SEGMENTS: usize = 2;

/// The owner of a log. Written into every file; another owner's log is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogIdentity {
    /// The cluster.
    pub cluster: ClusterId,
    /// The member of it.
    pub node: NodeId,
}

impl LogIdentity {
    /// Refuses a file of another owner.
    pub(super) fn check(self, found: Self, path: &Path) -> Result<(), LogOpenError> {
        let path = path.to_owned();
        if found.cluster != self.cluster {
            return Err(LogOpenError::OtherCluster {
                path,
                found: found.cluster,
                expected: self.cluster,
            });
        }
        if found.node != self.node {
            return Err(LogOpenError::OtherNode { path, found: found.node, expected: self.node });
        }
        Ok(())
    }
}

/// What a log is opened with.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Where the files are, and where the writer runs.
    pub disk: Arc<dyn Disk>,
    /// The folder for the log's files and nothing else. Made if it is missing.
    pub directory: PathBuf,
    /// The owner.
    pub identity: LogIdentity,
    /// Signals that the disk has failed and the process must stop.
    pub fatal: Fatal,
    /// Length of a grown segment, bytes, a multiple of 4096; from 16 KiB to 1 GiB.
    pub segment_bytes: u64,
    /// Length of the first segment of a new log, bytes, a multiple of 4096.
    pub first_segment_bytes: u64,
    /// Recent durable entries kept in memory, bytes as encoded.
    pub tail_bytes: usize,
    /// Encoded entries that may wait for the writer, bytes.
    pub queue_bytes: usize,
    /// Bytes of segments above which the log should be compacted, see [`super::Log::excess`].
    pub max_bytes: u64,
    /// What is told of writes.
    pub observer: Option<Arc<dyn LogObserver>>,
}

impl LogOptions {
    /// The usual limits.
    #[must_use]
    pub fn new(
        disk: Arc<dyn Disk>,
        directory: impl Into<PathBuf>,
        identity: LogIdentity,
        fatal: Fatal,
    ) -> Self {
        Self {
            disk,
            directory: directory.into(),
            identity,
            fatal,
            segment_bytes: SEGMENT_BYTES,
            first_segment_bytes: FIRST_SEGMENT_BYTES,
            tail_bytes: TAIL_BYTES,
            queue_bytes: QUEUE_BYTES,
            max_bytes: MAX_BYTES,
            observer: None,
        }
    }
}
