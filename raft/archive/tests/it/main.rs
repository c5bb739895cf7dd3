//! The archive against the memory store's past, on both engines, whole and hurt.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod backfill;
mod expiry;
mod faults;
mod full_disk;
mod model;
mod purge;
mod support;
