//! The commit phase: one transaction of the object's own keys, its allocations, and the terms of
//! its admission.
//!
//! Invariants: either all of them are written or none; each transaction says where it comes from;
//! what admission has decided is written only while the policies and webhooks are those that it was
//! decided by.

use std::pin::pin;

use bytes::Bytes;
use quorate_store::{Condition, Entry, Operation, Outcome as Decision, Revision, Txn};

use super::Writer;
use super::phase::{Phase, PhaseClock};
use super::pipeline::Admitted;
use super::state::revision;
use crate::WriteOrigin;
use crate::error::Error;
use crate::keys::Key;

/// The condition that failed, so that a transaction was not committed.
pub(super) enum Lost {
    /// A condition of the object's own keys, by its index.
    Own { condition: usize, current: Option<Entry>, revision: Revision },
    /// Another object has taken an allocation.
    Allocation,
    /// The terms of admission have changed.
    Terms,
    /// The policies and webhooks have changed.
    Rules,
}

/// What a write has to do with policies, bindings and webhooks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// Their revision when the write began; `None` where none is asked about it.
    pub(super) basis: Option<Revision>,
    /// Whether the write changes one.
    pub(super) changes: bool,
}

impl Rules {
    /// That of several writes in one transaction.
    pub(super) fn and(self, more: Self) -> Self {
        // The older basis is the stricter one.
        Self { basis: self.basis.or(more.basis), changes: self.changes || more.changes }
    }

    fn add_to(self, txn: &mut Txn) {
        let key = Key::AdmissionRules.encode();
        if self.changes {
            txn.operations.push(Operation::Put { key: key.clone(), value: Bytes::new() });
        }
        if let Some(revision) = self.basis {
            txn.conditions.push(Condition::Modified { key, revision });
        }
    }
}

impl Writer {
    /// The revision of policies and webhooks as this node knows it. Taken before the first phase, it
    /// is never newer than what admission decides by.
    pub(super) fn basis(&self) -> Option<Revision> {
        self.admission.as_ref()?;
        let key = Key::AdmissionRules.encode();
        Some(revision(self.store.snapshot().get(&key)))
    }

    /// Proposes a transaction, and returns its revision. A dry run only checks that it could be
    /// proposed, and returns `None`.
    pub(super) async fn commit(
        &self,
        mut txn: Txn,
        admitted: Admitted,
        origin: WriteOrigin<'_>,
        dry_run: bool,
        clock: &mut PhaseClock,
    ) -> Result<Result<Option<Revision>, Lost>, Error> {
        // The terms hold the lock of the quotas until the transaction is decided.
        let Admitted { allocation, terms, rules } = admitted;
        let own = txn.conditions.len();
        txn.conditions.extend(allocation.conditions);
        txn.operations.extend(allocation.operations);
        let allocated = txn.conditions.len();
        txn.conditions.extend(terms.conditions);
        txn.operations.extend(terms.operations);
        let decided = txn.conditions.len();
        rules.add_to(&mut txn);
        txn.origin = self.origin.with(&origin);
        if dry_run {
            self.store.limits().check_txn(&txn).map_err(quorate_store::Error::from)?;
            return Ok(Ok(None));
        }
        let decision = clock.run(Phase::Commit, pin!(self.store.txn(txn))).await?;
        drop(terms.quota_lock);
        Ok(match decision {
            Decision::Committed { revision } => Ok(Some(revision)),
            Decision::Conflict { condition, .. } if condition >= decided => Err(Lost::Rules),
            Decision::Conflict { condition, .. } if condition >= allocated => Err(Lost::Terms),
            Decision::Conflict { condition, .. } if condition >= own => Err(Lost::Allocation),
            Decision::Conflict { condition, current, revision } => {
                Err(Lost::Own { condition, current, revision })
            }
        })
    }
}
