//! How old the state may be that a token is checked against.
//!
//! Invariant: but for health endpoints, a check never relies on a state of this node that the quorum has not confirmed within [`MAX_AGE`], so what is
//! revoked anywhere is refused everywhere within that time, also by a node that is cut off from the others.

use std::time::Duration;

use parking_lot::Mutex;
use quorate_meta::Status;
use quorate_store::{Snapshot, Store};
use tokio::time::{Instant, timeout};

use crate::error::Error;

/// The oldest confirmation that counts.
const MAX_AGE: Duration = Duration::from_secs(1);
/// How long a confirmation may take.
const WAIT: Duration = Duration::from_secs(2);

/// Which state a check may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// One that was the newest within [`MAX_AGE`].
    Recent,
    /// Whatever this node has: health must not depend on the others.
    Any,
}

/// When this node's state was last known to be the newest.
#[derive(Debug, Default)]
pub(super) struct Confirmation {
    confirmed: Mutex<Option<Instant>>,
}

impl Confirmation {
    /// Whether what [`Store::snapshot`] gives from here on was the newest at some moment within [`MAX_AGE`].
    pub(super) fn is_recent(&self) -> bool {
        self.confirmed.lock().is_some_and(|at| at.elapsed() < MAX_AGE)
    }

    /// A state that is the newest now.
    pub(super) async fn newest(&self, store: &dyn Store) -> Result<Snapshot, Error> {
        let asked = Instant::now();
        match timeout(WAIT, store.read_index()).await {
            Ok(confirmed) => confirmed.map(drop)?,
            Err(_) => return Err(Status::service_unavailable("tokens cannot be checked: no quorum answers").into()),
        }
        let mut confirmed = self.confirmed.lock();
        *confirmed = (*confirmed).max(Some(asked));
        Ok(store.snapshot())
    }
}
