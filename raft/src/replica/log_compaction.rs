//! Log compaction by size: openraft compacts the log by the number of entries, and entries may be a
//! thousand times larger than usual.
//!
//! Invariant: only what a snapshot covers is purged (openraft sees to that), so a member that needs
//! more gets a snapshot. The log's size is checked now and then instead of at every write; between
//! two checks the log may grow by what the disk writes in that time.

use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::WatchReceiver;
use openraft::errors::Fatal;

use crate::core::RaftNode;
use crate::log::Log;
use crate::types::TypeConfig;

/// Between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Compacts the log whenever it has grown too long, until Raft stops.
pub(super) async fn compact_by_size(raft: Arc<RaftNode>, log: Log) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let Some(last) = log.excess() else { continue };
        if purge_up_to(&raft, last).await.is_err() {
            return;
        }
    }
}

/// Purges up to `last`; has the state made durable first if it is not that far.
async fn purge_up_to(raft: &RaftNode, last: u64) -> Result<(), Fatal<TypeConfig>> {
    let (covered, purged) = {
        let metrics = raft.openraft().metrics();
        let metrics = metrics.borrow_watched();
        (metrics.snapshot.map(|id| id.index), metrics.purged.map(|id| id.index))
    };
    if covered >= Some(last) {
        return if purged < Some(last) {
            raft.openraft().trigger().purge_log(last).await
        } else {
            Ok(())
        };
    }
    raft.openraft().trigger().snapshot().await
}
