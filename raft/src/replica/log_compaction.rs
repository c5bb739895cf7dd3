//! Keeps the log within its bytes: Raft cuts it by the number of entries, and entries may be a thousand times larger than usual.
//!
//! Invariant: only what a snapshot stands for is purged (Raft sees to that), so whoever needs more gets a snapshot. Looks at
//! the log now and then instead of at every write; between two looks it may grow by what the disk takes in that time.

use std::time::Duration;

use openraft::async_runtime::WatchReceiver;

use super::core::Core;
use crate::log::Log;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Core {
    /// Cuts the log whenever it has grown too long, until Raft stops.
    pub(super) async fn keep_log_short(&self, log: Log) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let Some(last) = log.excess() else { continue };
            if self.cut_log(last).await.is_err() {
                return;
            }
        }
    }

    /// Purges up to `last`; has the state made durable first if it is not that far.
    async fn cut_log(&self, last: u64) -> Result<(), openraft::errors::Fatal<crate::types::TypeConfig>> {
        let (covered, purged) = {
            let metrics = self.raft.metrics();
            let metrics = metrics.borrow_watched();
            (metrics.snapshot.map(|id| id.index), metrics.purged.map(|id| id.index))
        };
        if covered >= Some(last) {
            return if purged < Some(last) { self.raft.trigger().purge_log(last).await } else { Ok(()) };
        }
        self.raft.trigger().snapshot().await
    }
}
