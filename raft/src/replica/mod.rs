//! A replica: opening a member, what it does as a `Store`, how it stops.
//!
//! Invariants: nothing is global, so several members run in one process; everything outside is
//! reached through the seams in [`ReplicaOptions`]. Reading order: `options`, `open`, `handle`,
//! then `store` (what callers see), `proposals` and `proposal_batches` (writes on the leader),
//! `forward` (writes elsewhere), `read_index` and `read_round` (reads), `archive` (the past), `backfill`
//! (the past that another member has), `service` (the calls of peers).

mod archive;
mod backfill;
mod background;
mod batch_window;
mod config;
mod forward;
mod handle;
mod log_compaction;
mod log_watchdog;
mod open;
mod options;
mod positions;
mod proposal_batches;
mod proposals;
mod read_index;
mod read_round;
mod service;
mod snapshot_installs;
mod store;
mod task_seeds;
mod watchdog;

pub use handle::{Replica, StopReport};
pub use open::ReplicaOpenError;
pub use options::{ArchiveSettings, Compaction, MemberOptions, ReplicaOptions, Timing};
pub use positions::Positions;
pub use quorate_archive::{ArchiveStatus, BackfillOptions};
