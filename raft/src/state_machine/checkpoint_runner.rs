//! The checkpoint runner: when checkpoints are made, and where: on a thread of its own beside the
//! saver, or by the saving task in simulations.
//!
//! Invariants: one at a time; once [`CheckpointRunner::end`] has returned none is being made. One
//! that fails is fatal, as a save is.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use quorate_env::disk::{Disk, SystemDisk};

use super::checkpoint::Checkpoint;
use super::failure::FailureReport;
use super::journal::Journal;
use super::options::{Saving, StateIdentity, StateMachineOptions};

/// Between two megabytes of a checkpoint, so that it does not delay the log.
const PAUSE: Duration = Duration::from_millis(10);

/// Makes checkpoints when the journal has grown enough.
pub(super) struct CheckpointRunner {
    identity: StateIdentity,
    bytes: u64,
    saving: Saving,
    failures: FailureReport,
    running: Arc<RunState>,
}

/// Whether one is being made, and whether it should go on.
#[derive(Default)]
struct RunState {
    state: Mutex<RunFlags>,
    changed: Condvar,
}

#[derive(Default)]
struct RunFlags {
    is_running: bool,
    is_to_end: bool,
}

impl RunState {
    /// Leaves the disk to the log for a moment. False when the checkpoint is to be abandoned.
    fn pause(&self) -> bool {
        let mut state = self.state.lock();
        if !state.is_to_end {
            self.changed.wait_for(&mut state, PAUSE);
        }
        !state.is_to_end
    }
}

/// Held while one is being made, however that ends.
struct RunGuard(Arc<RunState>);

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.0.state.lock().is_running = false;
        self.0.changed.notify_all();
    }
}

impl CheckpointRunner {
    pub(super) fn new(options: &StateMachineOptions, failures: FailureReport) -> Self {
        Self {
            identity: options.identity.clone(),
            bytes: options.checkpoint_bytes,
            saving: options.saving,
            failures,
            running: Arc::default(),
        }
    }

    /// Makes this checkpoint, or begins to, if the journal has become long enough since the last
    /// one.
    pub(super) fn consider(
        &self,
        journal: &Arc<Journal>,
        checkpoint: Checkpoint,
    ) -> io::Result<()> {
        if journal.bytes_since_checkpoint() < self.bytes.max(checkpoint.position.progress.size) {
            return Ok(());
        }
        match self.saving {
            Saving::Every(_) => checkpoint.write(journal, &self.identity, || true),
            Saving::Behind => self.begin(journal, checkpoint),
        }
    }

    /// Ends the one that is being made, if there is one.
    pub(super) fn end(&self) {
        let mut state = self.running.state.lock();
        state.is_to_end = true;
        self.running.changed.notify_all();
        while state.is_running {
            self.running.changed.wait(&mut state);
        }
        state.is_to_end = false;
    }

    fn begin(&self, journal: &Arc<Journal>, checkpoint: Checkpoint) -> io::Result<()> {
        if std::mem::replace(&mut self.running.state.lock().is_running, true) {
            return Ok(());
        }
        let guard = RunGuard(Arc::clone(&self.running));
        let (journal, identity, failures) =
            (Arc::clone(journal), self.identity.clone(), self.failures.clone());
        let run = async move {
            if let Err(error) = checkpoint.write(&journal, &identity, || guard.0.pause()) {
                journal.fail();
                failures.report(&error);
            }
            // A caller of `end` may need the folder.
            drop(journal);
            drop(guard);
        };
        SystemDisk.spawn("state-checkpoint", Box::pin(run))
    }
}
