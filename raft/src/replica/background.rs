//! The background tasks of a member, and how they end: with the member.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Everything that runs for a member beside its callers.
pub(super) struct BackgroundTasks {
    /// Cuts the peers' connections and frees the port.
    pub(super) closing: CancellationToken,
    pub(super) tasks: Vec<JoinHandle<()>>,
}

impl BackgroundTasks {
    /// Ends all of them.
    pub(super) fn end(&self) {
        self.closing.cancel();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        self.end();
    }
}
