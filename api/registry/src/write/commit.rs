//! The commit phase: one transaction of the object's own keys, its allocations, and the terms of
//! its admission.
//!
//! Invariant: either all of them are written or none.

use quorate_store::{Entry, Outcome as Decision, Revision, Txn};

use super::Writer;
use super::phase::{Phase, PhaseClock};
use super::pipeline::Admitted;
use crate::error::Error;

/// The condition that failed, so that a transaction was not committed.
pub(super) enum Lost {
    /// A condition of the object's own keys, by its index.
    Own { condition: usize, current: Option<Entry>, revision: Revision },
    /// Another object has taken an allocation.
    Allocation,
    /// The terms of admission have changed.
    Terms,
}

impl Writer {
    /// Proposes a transaction, and returns its revision. A dry run only checks that it could be
    /// proposed, and returns `None`.
    pub(super) async fn commit(
        &self,
        mut txn: Txn,
        admitted: Admitted,
        dry_run: bool,
        clock: &mut PhaseClock,
    ) -> Result<Result<Option<Revision>, Lost>, Error> {
        // The terms hold the lock of the quotas until the transaction is decided.
        let Admitted { allocation, terms } = admitted;
        let own = txn.conditions.len();
        txn.conditions.extend(allocation.conditions);
        txn.operations.extend(allocation.operations);
        let allocated = txn.conditions.len();
        txn.conditions.extend(terms.conditions);
        txn.operations.extend(terms.operations);
        if dry_run {
            self.store.limits().check_txn(&txn).map_err(quorate_store::Error::from)?;
            return Ok(Ok(None));
        }
        let decision = clock.run(Phase::Commit, self.store.txn(txn)).await?;
        drop(terms.quota_lock);
        Ok(match decision {
            Decision::Committed { revision } => Ok(Some(revision)),
            Decision::Conflict { condition, .. } if condition >= allocated => Err(Lost::Terms),
            Decision::Conflict { condition, .. } if condition >= own => Err(Lost::Allocation),
            Decision::Conflict { condition, current, revision } => {
                Err(Lost::Own { condition, current, revision })
            }
        })
    }
}
