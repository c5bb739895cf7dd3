//! Integration tests of the replicated store, in one binary.

mod cluster;
mod conformance;
mod failover;
mod joining;
mod membership;
mod log;
mod state_machine;
