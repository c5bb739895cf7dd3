//! The conformance suite of [`crate::Store`], as cases that any implementation can run: memory, one
//! replica, three, a follower.
//!
//! Each case is a function that takes a store and panics with what is wrong. A case uses its own
//! key prefix and assumes neither an empty store nor a certain revision; it does assume that it is
//! the only writer. [`run_all`] runs the cases that any store passes; [`compaction`],
//! [`size_limit`] and [`past()`] want stores made for them.

mod history;
mod limits;
mod past;
mod reads;
mod subject;
mod transactions;
mod watches;

use std::sync::Arc;

pub use history::{COMPACTION_WRITES, compaction, exact_reads, paging_at_an_old_revision};
pub use limits::{SIZE_LIMIT_MAX_BYTES, size, size_limit, transaction_limit};
pub use past::past;
pub use reads::{applied_waits, ordered_ranges, read_index_is_monotone};
pub use transactions::{
    conditions, conflicts_tell_the_current_entry, contended_counter, entries_know_their_revisions,
    invalid_transactions, one_revision_per_transaction,
};
pub use watches::{
    watch_from_every_revision, watch_from_the_future, watch_is_atomic_and_filtered, watch_narrowed,
    watch_position_advances, watch_skips, watch_under_load,
};

use crate::Store;

/// Runs every case that needs no special store, each on what `make` gives: a new store every time,
/// or the same one.
pub async fn run_all<F, Fut>(make: F)
where
    F: Fn() -> Fut,
    Fut: Future<Output = Arc<dyn Store>>,
{
    conditions(make().await).await;
    conflicts_tell_the_current_entry(make().await).await;
    entries_know_their_revisions(make().await).await;
    invalid_transactions(make().await).await;
    one_revision_per_transaction(make().await).await;
    contended_counter(make().await).await;
    exact_reads(make().await).await;
    paging_at_an_old_revision(make().await).await;
    size(make().await).await;
    transaction_limit(make().await).await;
    applied_waits(make().await).await;
    ordered_ranges(make().await).await;
    read_index_is_monotone(make().await).await;
    watch_from_every_revision(make().await).await;
    watch_from_the_future(make().await).await;
    watch_is_atomic_and_filtered(make().await).await;
    watch_narrowed(make().await).await;
    watch_position_advances(make().await).await;
    watch_skips(make().await).await;
    watch_under_load(make().await).await;
}
