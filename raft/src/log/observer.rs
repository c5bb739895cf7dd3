//! The seam to what counts the log's writes.

use std::fmt::Debug;
use std::time::Duration;

/// Is told what the log has made durable. It must not block: the writer waits for it.
pub trait LogObserver: Debug + Send + Sync {
    /// So many records are durable now, after a sync that took so long.
    fn synced(&self, records: usize, took: Duration);
}
