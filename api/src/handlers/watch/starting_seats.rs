//! The seats of a watch that tells the state first: it holds them until all of that is told.
//!
//! Invariant: a client that does not take the state in time keeps no seats. Its watch goes on
//! without.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_access::flow_control::ExecutingRequest;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

/// How long a watch holds seats at most.
const LIMIT: Duration = Duration::from_secs(60);

/// The seats of a watch that begins; dropping them gives them back.
pub(super) struct StartingSeats {
    held: Arc<Mutex<Option<ExecutingRequest>>>,
    /// Ends the wait for the limit.
    _timer: AbortOnDropHandle<()>,
}

impl StartingSeats {
    pub(super) fn new(executing: ExecutingRequest) -> Self {
        let held = Arc::new(Mutex::new(Some(executing)));
        let late = Arc::clone(&held);
        let timer = tokio::spawn(async move {
            sleep(LIMIT).await;
            drop(late.lock().take());
        });
        Self { held, _timer: AbortOnDropHandle::new(timer) }
    }
}

impl Drop for StartingSeats {
    fn drop(&mut self) {
        drop(self.held.lock().take());
    }
}

impl fmt::Debug for StartingSeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartingSeats").field("held", &self.held).finish_non_exhaustive()
    }
}
