//! What the state machine is told when it is opened.
//!
//! Invariant: nothing here changes what a committed entry does to the objects; the retention must be the same on every
//! member for their histories to have the same bounds. This file reads no configuration and touches no disk.

use std::path::PathBuf;

use quorate_store::Retention;

use crate::ClusterId;
use crate::disk::Fatal;

/// Bytes that a memtable of objects or history may reach before it is written out. Two of each may be alive at once.
pub const MEMTABLE_BYTES: u64 = 8 << 20;
/// Bytes of disk blocks kept in memory. Small on purpose: everything is served from the serving form.
pub const BLOCK_CACHE_BYTES: u64 = 4 << 20;
/// See [`Options::reclaim_bytes`].
pub const RECLAIM_BYTES: u64 = 64 << 20;
/// Bytes of the newest history that a start reads back into the serving form's ring.
pub const WARM_BYTES: usize = 16 << 20;
/// Threads that write memtables out and compact. With more than one, fjall's first worker spins while another compacts.
pub const WORKER_THREADS: usize = 1;

/// When applied entries are written to the database. The log has them until then, and an open after a crash takes them from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saving {
    /// By a thread of its own, many groups at a time; everything when the state machine is dropped.
    Behind,
    /// By whoever applies, as soon as so many groups wait; what waits is lost when the state machine is dropped. For simulations.
    Every(usize),
}

/// How [`super::StateMachine::open`] finds and runs its database.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database's own folder. Created when absent.
    pub directory: PathBuf,
    /// Which cluster and naming profile the data must belong to.
    pub identity: Identity,
    /// How much history stays readable.
    pub retention: Retention,
    /// Bytes of the newest history that the serving form starts with.
    pub warm_bytes: usize,
    /// Dropped history, in bytes of footprint, that is worth the two syncs of freeing its disk space.
    pub reclaim_bytes: u64,
    /// When applied entries are written.
    pub saving: Saving,
    /// Background threads of the database. 0 for simulations: nothing then leaves the memtables and the journal.
    pub worker_threads: usize,
    /// See [`BLOCK_CACHE_BYTES`].
    pub block_cache_bytes: u64,
    /// Told in one line why the state cannot go on, before Raft hears of it: Raft's own words say only that something closed.
    pub fatal: Fatal,
}

impl Options {
    /// The production settings for a database of this identity in this folder.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, identity: Identity) -> Self {
        Self {
            directory: directory.into(),
            identity,
            retention: Retention::default(),
            warm_bytes: WARM_BYTES,
            reclaim_bytes: RECLAIM_BYTES,
            saving: Saving::Behind,
            worker_threads: WORKER_THREADS,
            block_cache_bytes: BLOCK_CACHE_BYTES,
            fatal: Fatal::new(),
        }
    }
}

/// Who a database belongs to. Written once, when it is created; a start with another identity is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The cluster.
    pub cluster: ClusterId,
    /// The naming profile, as the command line spells it.
    pub naming: String,
}
