//! State machine options: what the state is opened with.
//!
//! Invariant: nothing here changes what a committed entry does to the objects; the retention must
//! be the same on every member for their histories to have the same bounds. This file reads no
//! configuration and touches no disk.

use std::path::PathBuf;
use std::sync::Arc;

use quorate_env::Fatal;
use quorate_env::disk::{Disk, SystemDisk};
use quorate_store::{Retention, ServingOptions};

use crate::cluster::ClusterId;

/// See [`StateMachineOptions::segment_bytes`].
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// See [`StateMachineOptions::checkpoint_bytes`].
pub const CHECKPOINT_BYTES: u64 = 64 << 20;
/// Bytes of the newest history that a start reads back into the serving form's ring.
pub const WARM_BYTES: usize = 16 << 20;

/// Bytes of journal that are kept beyond what is retained while the archive has not taken them: a
/// minute of the fastest writes.
pub const HELD_BYTES: u64 = 1 << 30;

/// When applied entries are written to the journal. The log has them until then, and an open after
/// a crash takes them from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saving {
    /// By a thread of its own, many groups at a time; everything when the state machine is dropped.
    Behind,
    /// By the applying task, as soon as so many groups wait; what waits is lost when the state
    /// machine is dropped. For simulations.
    Every(usize),
}

/// How [`super::StateMachine::open`] finds and keeps its state.
#[derive(Debug, Clone)]
pub struct StateMachineOptions {
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// The state's own folder. Created when absent.
    pub directory: PathBuf,
    /// Which cluster and naming profile the data must belong to.
    pub identity: StateIdentity,
    /// How much history stays readable.
    pub retention: Retention,
    /// See [`HELD_BYTES`].
    pub held_bytes: u64,
    /// How much memory serving may take.
    pub serving: ServingOptions,
    /// Bytes of the newest history that the serving form starts with.
    pub warm_bytes: usize,
    /// Bytes of a segment of the journal. Dropped history gives its disk space back a segment at a
    /// time.
    pub segment_bytes: u64,
    /// Bytes of journal after which a checkpoint is made, or as many as there are of objects if
    /// those are more: a start reads both.
    pub checkpoint_bytes: u64,
    /// When applied entries are written.
    pub saving: Saving,
    /// Signals in one line why the state cannot go on, before Raft fails: Raft's own words say only
    /// that something closed.
    pub fatal: Fatal,
}

impl StateMachineOptions {
    /// The production settings for a state of this identity in this folder of the real disk.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, identity: StateIdentity) -> Self {
        Self {
            disk: Arc::new(SystemDisk),
            directory: directory.into(),
            identity,
            retention: Retention::default(),
            held_bytes: HELD_BYTES,
            serving: ServingOptions::default(),
            warm_bytes: WARM_BYTES,
            segment_bytes: SEGMENT_BYTES,
            checkpoint_bytes: CHECKPOINT_BYTES,
            saving: Saving::Behind,
            fatal: Fatal::new(),
        }
    }
}

/// The owner of a state. Written once, when it is created; a start with another identity is
/// refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateIdentity {
    /// The cluster.
    pub cluster: ClusterId,
    /// The naming profile, as the command line spells it.
    pub naming: String,
}
