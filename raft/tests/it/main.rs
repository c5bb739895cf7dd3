//! Integration tests of the replicated store, in one binary.

mod cluster;
mod compaction;
mod conformance;
mod contract;
mod distance;
mod failover;
mod joining;
mod log;
mod membership;
mod older_copy;
mod recovery;
mod state_machine;
