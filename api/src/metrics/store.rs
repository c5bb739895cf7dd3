//! The store with its transactions measured: for writers, so that reads pass it by.
//!
//! They are counted under the names that dashboards of API servers know, as requests to storage. A
//! transaction counts for the object that it is about, the first of its operations.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_metrics::{Counter, CounterSeries, Histogram, Registry};
use quorate_registry::keys::Key;
use quorate_store::{
    Condition, Error, HistoryError, Limits, NotApplied, Operation, Outcome, Past, Revision,
    Snapshot, Status, Store, Txn, Watch,
};
use tokio::time::Instant;

/// How a transaction is called that only checks conditions.
const CHECK: &str = "get";

/// The same store, measured.
#[must_use]
pub(crate) fn measured(store: Arc<dyn Store>, registry: &Registry) -> Arc<dyn Store> {
    let proposals = registry.counter("quorate_store_transactions_total");
    Arc::new(MeasuredStore {
        store,
        requests: registry.counter("etcd_requests_total"),
        errors: registry.counter("etcd_request_errors_total"),
        duration: registry.histogram("etcd_request_duration_seconds"),
        outcomes: ["committed", "conflict", "not_applied", "unknown"]
            .map(|outcome| proposals.with([outcome])),
    })
}

struct MeasuredStore {
    store: Arc<dyn Store>,
    requests: Counter<3>,
    errors: Counter<3>,
    duration: Histogram<3>,
    outcomes: [CounterSeries; 4],
}

impl MeasuredStore {
    fn ended(&self, labels: [&str; 3], begin: Instant, is_error: bool) {
        self.requests.inc(labels);
        self.duration.observe_duration(labels, begin.elapsed());
        if is_error {
            self.errors.inc(labels);
        }
    }
}

#[async_trait]
impl Store for MeasuredStore {
    // What is passed on takes no box of its own.
    fn read_index<'s, 'f>(
        &'s self,
    ) -> Pin<Box<dyn Future<Output = Result<Revision, Error>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        self.store.read_index()
    }

    fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.store.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.store.applied(at).await;
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.store.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.store.past()
    }

    fn status(&self) -> Status {
        self.store.status()
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        // The labels go with the transaction.
        let (operation, key) = subject(&txn);
        let begin = Instant::now();
        let outcome = self.store.txn(txn).await;
        let place = match &outcome {
            Ok(Outcome::Committed { .. }) => 0,
            Ok(Outcome::Conflict { .. }) => 1,
            Err(Error::NotApplied(_)) => 2,
            Err(Error::Unknown(_)) => 3,
        };
        self.outcomes[place].inc();
        let (group, resource) = match Key::parse(&key) {
            Some(Key::Object { group, resource, .. }) => (group, resource),
            _ => ("", ""),
        };
        let is_error = outcome.as_ref().is_err_and(|error| !is_clients(error));
        self.ended([operation, group, resource], begin, is_error);
        outcome
    }
}

/// Whether an error is about the transaction, not about the store.
fn is_clients(error: &Error) -> bool {
    matches!(error, Error::NotApplied(NotApplied::Invalid(_)))
}

/// What a transaction does, and to which key.
fn subject(txn: &Txn) -> (&'static str, Bytes) {
    let object = txn.operations.iter().find(|operation| operation.key().starts_with(b"o/"));
    let Some(operation) = object.or(txn.operations.first()) else {
        return (CHECK, Bytes::new());
    };
    let key = operation.key();
    let is_new = txn.conditions.iter().any(
        |condition| matches!(condition, Condition::Modified { key: own, revision } if own == key && *revision == Revision::ZERO),
    );
    let name = match operation {
        Operation::Put { .. } if is_new => "create",
        Operation::Put { .. } => "update",
        Operation::Delete { .. } => "delete",
    };
    (name, key.clone())
}
