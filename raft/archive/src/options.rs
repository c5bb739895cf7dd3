//! Options of the archive, and how it is.

use std::sync::Arc;
use std::time::Duration;

use quorate_env::Clock;
use quorate_env::disk::Disk;
use quorate_store::{Gap, Revision};

use crate::engine::Engine;

/// How far back the archive reaches by default.
pub const DEFAULT_ARCHIVE_RETENTION: Duration = Duration::from_secs(72 * 60 * 60);
/// Bytes on disk that the archive takes by default at most.
pub const DEFAULT_ARCHIVE_BYTES: u64 = 10 << 30;
/// Bytes of [`quorate_store::Batch::footprint`] that are archived at once.
pub const BULK_BYTES: usize = 16 << 20;
/// How long a change waits for others to be archived with it.
pub const BULK_WAIT: Duration = Duration::from_secs(30);
/// Versions after which a slice is full.
pub const SLICE_VERSIONS: u64 = 100_000;
/// Bytes of keys and values after which a slice is full.
pub const SLICE_BYTES: u64 = 256 << 20;

/// Between two looks for what is missing.
pub const BACKFILL_LOOK: Duration = Duration::from_secs(10);
/// How long what no member could give waits until the members are asked again.
pub const BACKFILL_RETRY: Duration = Duration::from_secs(60);
/// Bytes of [`quorate_store::Batch::footprint`] that are fetched in a second.
pub const BACKFILL_BYTES_PER_SECOND: u64 = 4 << 20;
/// Bytes of the same that are asked for at once.
pub const BACKFILL_ANSWER_BYTES: usize = 2 << 20;

/// How an archive is kept.
#[derive(Debug, Clone)]
pub struct ArchiveOptions {
    /// Where.
    pub engine: Arc<dyn Engine>,
    /// Of which cluster and naming profile it is. What another one's archive has left is dropped.
    pub owner: String,
    /// How far back it reaches.
    pub retention: Duration,
    /// Bytes on disk beyond which the oldest goes before its time.
    pub bytes: u64,
    /// See [`BULK_BYTES`].
    pub bulk_bytes: usize,
    /// See [`BULK_WAIT`].
    pub bulk_wait: Duration,
    /// See [`SLICE_VERSIONS`].
    pub slice_versions: u64,
    /// See [`SLICE_BYTES`].
    pub slice_bytes: u64,
    /// Says when something has expired.
    pub clock: Arc<dyn Clock>,
    /// Gives the writer its thread.
    pub disk: Arc<dyn Disk>,
}

impl ArchiveOptions {
    /// The production settings.
    #[must_use]
    pub fn new(
        engine: Arc<dyn Engine>,
        owner: String,
        clock: Arc<dyn Clock>,
        disk: Arc<dyn Disk>,
    ) -> Self {
        Self {
            engine,
            owner,
            retention: DEFAULT_ARCHIVE_RETENTION,
            bytes: DEFAULT_ARCHIVE_BYTES,
            bulk_bytes: BULK_BYTES,
            bulk_wait: BULK_WAIT,
            slice_versions: SLICE_VERSIONS,
            slice_bytes: SLICE_BYTES,
            clock,
            disk,
        }
    }
}

/// How an archive is filled from other members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackfillOptions {
    /// See [`BACKFILL_LOOK`].
    pub look: Duration,
    /// See [`BACKFILL_RETRY`].
    pub retry: Duration,
    /// See [`BACKFILL_BYTES_PER_SECOND`].
    pub bytes_per_second: u64,
    /// See [`BACKFILL_ANSWER_BYTES`].
    pub answer_bytes: usize,
}

impl Default for BackfillOptions {
    fn default() -> Self {
        Self {
            look: BACKFILL_LOOK,
            retry: BACKFILL_RETRY,
            bytes_per_second: BACKFILL_BYTES_PER_SECOND,
            answer_bytes: BACKFILL_ANSWER_BYTES,
        }
    }
}

/// How an archive is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Bytes on disk.
    pub bytes: u64,
    /// Eras that there are.
    pub eras: usize,
    /// The oldest revision that can be read.
    pub oldest: Revision,
    /// When that was, milliseconds since the Unix epoch.
    pub oldest_ms: u64,
    /// The last revision that is archived; newer ones are read from the journal and from memory.
    pub archived: Revision,
    /// Transactions that are not archived yet.
    pub lag: u64,
    /// What is not there between the oldest and the newest revision.
    pub gaps: Vec<Gap>,
    /// Bytes of keys and values archived since the start.
    pub written: u64,
    /// Eras dropped for damage since the start, and bulks that could not be written.
    pub failures: u64,
    /// Bytes of keys and values filled from other members since the start.
    pub filled: u64,
    /// Transactions filled from other members since the start.
    pub filled_transactions: u64,
    /// Times that another member gave nothing, or something that was refused, since the start.
    pub fill_failures: u64,
    /// Eras written anew without what was purged, since the start.
    pub rewritten: u64,
}
