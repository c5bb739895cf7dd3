//! How old the state may be that a token is checked against, or that somebody may change something by.
//!
//! Invariant: but for health endpoints, a check of a token never relies on a state of this node that the quorum has not confirmed within
//! [`MAX_AGE`], so what is revoked anywhere is refused everywhere within that time, also by a node that is cut off from the others.

use std::time::Duration;

use parking_lot::Mutex;
use quorate_meta::Status;
use quorate_store::Store;
use tokio::time::{Instant, timeout};

use quorate_registry::error::Error;

/// The oldest confirmation that counts.
const MAX_AGE: Duration = Duration::from_secs(1);
/// When somebody may come back who could not be checked.
const RETRY_SECONDS: u32 = 1;

/// Which state a check may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateRequirement {
    /// One that was the newest within [`MAX_AGE`].
    Confirmed,
    /// Whatever this node has: health must not depend on the others.
    Any,
}

/// When this node's state was last known to be the newest.
#[derive(Debug, Default)]
pub struct QuorumConfirmation {
    confirmed: Mutex<Option<Instant>>,
}

impl QuorumConfirmation {
    /// Whether what [`Store::snapshot`] gives from here on was the newest at some moment within [`MAX_AGE`].
    pub(crate) fn is_recent(&self) -> bool {
        self.confirmed.lock().is_some_and(|at| at.elapsed() < MAX_AGE)
    }

    /// Asks the quorum: what [`Store::snapshot`] gives after this is the newest.
    ///
    /// # Errors
    /// When the quorum does not answer within the time; `what` cannot be done then.
    pub(crate) async fn renew(&self, store: &dyn Store, within: Duration, what: &str) -> Result<(), Error> {
        let asked = Instant::now();
        match timeout(within, store.read_index()).await {
            Ok(confirmed) => confirmed.map(drop)?,
            Err(_) => {
                let status = Status::service_unavailable(format!("{what}: no quorum answers"));
                return Err(status.with_retry_after(RETRY_SECONDS).into());
            }
        }
        let mut confirmed = self.confirmed.lock();
        *confirmed = (*confirmed).max(Some(asked));
        Ok(())
    }
}
