//! A replica that breaks one promise of the `Store` trait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use quorate_raft::Replica;
use quorate_store::{
    Condition, Error, HistoryError, Limits, NotApplied, Outcome, Past, Revision, Snapshot, Status,
    Store, Txn, Watch,
};

use super::Broken;

/// Every so many transactions one is proposed twice.
const TWICE_EVERY: u64 = 29;
/// Batches that a watch which forgets history begins with at most.
const REMEMBERED: u64 = 3;

/// The replica that breaks a promise.
pub(super) struct BrokenStore {
    replica: Arc<Replica>,
    broken: Broken,
    transactions: AtomicU64,
}

impl BrokenStore {
    pub(super) fn new(replica: Replica, broken: Broken) -> Self {
        Self { replica: Arc::new(replica), broken, transactions: AtomicU64::new(0) }
    }

    /// What a leader with too much confidence in itself says.
    fn early_answer(&self, txn: &Txn) -> Option<Outcome> {
        if !self.replica.is_leader() {
            return None;
        }
        let (replica, txn) = (self.replica.clone(), txn.clone());
        let revision = replica.snapshot().revision().next();
        tokio::spawn(async move { replica.txn(txn).await });
        Some(Outcome::Committed { revision })
    }

    /// The first condition that does not hold here and now.
    fn conflict_here(&self, txn: &Txn) -> Option<Outcome> {
        let snapshot = self.replica.snapshot();
        let holds = |condition: &Condition| {
            let entry = snapshot.get(condition.key());
            match condition {
                Condition::Modified { revision, .. } => {
                    entry.map_or(Revision::ZERO, |entry| entry.modified) == *revision
                }
                Condition::Exists { .. } => entry.is_some(),
            }
        };
        let condition = txn.conditions.iter().position(|condition| !holds(condition))?;
        let current = snapshot.get(txn.conditions[condition].key()).cloned();
        Some(Outcome::Conflict { condition, current, revision: snapshot.revision() })
    }
}

#[async_trait]
impl Store for BrokenStore {
    async fn read_index(&self) -> Result<Revision, Error> {
        let here = self.replica.snapshot().revision();
        match self.broken {
            Broken::NoReadIndex => Ok(here),
            Broken::UnappliedRead => {
                // The quorum is asked, and what it says is not waited for.
                let replica = self.replica.clone();
                tokio::spawn(async move { replica.read_index().await });
                Ok(here)
            }
            _ => self.replica.read_index().await,
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.replica.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.replica.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.replica.applied(at).await;
    }

    async fn txn(&self, mut txn: Txn) -> Result<Outcome, Error> {
        let count = self.transactions.fetch_add(1, Ordering::SeqCst);
        let premature = match self.broken {
            Broken::EarlyAnswer => self.early_answer(&txn),
            Broken::StaleConflict => self.conflict_here(&txn),
            _ => None,
        };
        if let Some(outcome) = premature {
            return Ok(outcome);
        }
        match self.broken {
            Broken::IgnoredConditions => txn.conditions.clear(),
            Broken::AppliedTwice if count.is_multiple_of(TWICE_EVERY) => {
                txn.conditions.clear();
                self.replica.txn(txn.clone()).await?;
            }
            _ => {}
        }
        match self.replica.txn(txn).await {
            Err(Error::Unknown(reason)) if self.broken == Broken::DeniedUnknown => {
                Err(NotApplied::Unavailable(reason).into())
            }
            decided => decided,
        }
    }

    fn limits(&self) -> Limits {
        self.replica.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        let remembered =
            Revision::new(self.replica.snapshot().revision().get().saturating_sub(REMEMBERED));
        match self.broken {
            Broken::EarlyCompaction
                if Revision::ZERO < after && after < self.replica.snapshot().revision() =>
            {
                Err(HistoryError::Compacted { oldest: after.next() })
            }
            Broken::ForgottenHistory => self.replica.watch(prefix, after.max(remembered)),
            _ => self.replica.watch(prefix, after),
        }
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.replica.past()
    }

    fn status(&self) -> Status {
        self.replica.status()
    }
}
