//! Metrics of the archive. Without one they are zero.

use quorate_metrics::Registry;
use quorate_raft::Replica;
use quorate_raft::replica::ArchiveStatus;

/// Observes the replica's archive.
pub(crate) fn observe(registry: &Registry, replica: &Replica) {
    let count = |name: &str, value: fn(&ArchiveStatus) -> u64| {
        let replica = replica.clone();
        registry.observe(name, move |to| {
            to.add_count(&[], replica.archive().as_ref().map_or(0, value));
        });
    };
    count("quorate_archive_size_bytes", |status| status.bytes);
    count("quorate_archive_eras", |status| status.eras as u64);
    count("quorate_archive_gaps", |status| status.gaps.len() as u64);
    count("quorate_archive_lag_revisions", |status| status.lag);
    count("quorate_archive_oldest_timestamp_seconds", |status| status.oldest_ms / 1000);
    count("quorate_archive_written_bytes_total", |status| status.written);
    count("quorate_archive_failures_total", |status| status.failures);
    count("quorate_archive_backfilled_bytes_total", |status| status.filled);
    count("quorate_archive_backfilled_transactions_total", |status| status.filled_transactions);
    count("quorate_archive_backfill_failures_total", |status| status.fill_failures);
}
