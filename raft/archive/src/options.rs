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
    /// Eras written anew without what was purged, since the start.
    pub rewritten: u64,
}
