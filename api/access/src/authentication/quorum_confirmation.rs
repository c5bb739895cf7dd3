//! Quorum confirmation: when this node's state was last known to be the newest of the cluster.
//!
//! Invariant: but for health endpoints, a token is never checked against a state that the quorum
//! has not confirmed within `MAX_AGE`. What is revoked through any node is refused by every node
//! within that time, also by a node that is partitioned from the others.

use std::time::Duration;

use parking_lot::Mutex;
use quorate_meta::Status;
use quorate_store::Store;
use tokio::time::{Instant, timeout};

use quorate_registry::error::Error;

/// The oldest confirmation that counts.
const MAX_AGE: Duration = Duration::from_secs(1);
/// Seconds after which a client may retry that could not be checked.
const RETRY_SECONDS: u32 = 1;

/// The state that a check may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateRequirement {
    /// One that the quorum has confirmed within `MAX_AGE`.
    Confirmed,
    /// Any state of this node: its health must not depend on other nodes.
    Any,
}

/// When this node's state was last known to be the newest.
#[derive(Debug, Default)]
pub struct QuorumConfirmation {
    confirmed: Mutex<Option<Instant>>,
}

impl QuorumConfirmation {
    /// Whether what [`Store::snapshot`] gives from here on was the newest at some moment within
    /// `MAX_AGE`.
    pub(crate) fn is_recent(&self) -> bool {
        self.confirmed.lock().is_some_and(|at| at.elapsed() < MAX_AGE)
    }

    /// Asks the quorum: what [`Store::snapshot`] gives after this is the newest.
    ///
    /// # Errors
    /// When the quorum does not answer within the time; `what` cannot be done then.
    pub(crate) async fn renew(
        &self,
        store: &dyn Store,
        within: Duration,
        what: &str,
    ) -> Result<(), Error> {
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
