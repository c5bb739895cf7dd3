//! Integration tests of the replicated store, in one binary.

mod backfill;
mod cluster;
mod compaction;
mod conformance;
mod contract;
mod distance;
mod failover;
mod formats;
mod joining;
mod log;
mod membership;
mod recovery;
mod rollback;
mod silence;
mod slow_disks;
mod state_machine;
