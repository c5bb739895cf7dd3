//! Acknowledged writes of the objects that derived states follow from.
//!
//! Invariant: a write is recorded before its client gets the response, so that a later request of
//! that client through this node waits for the write, even where the node has proposed it to the
//! leader and not yet applied it itself.

use std::sync::Arc;

use async_trait::async_trait;
use quorate_store::{Error as StoreError, Layer, Outcome, Store, Txn};

use super::Informed;

/// The same store, which reports the writes that it acknowledges to these derived states.
#[must_use]
pub fn recording_writes(store: Arc<dyn Store>, states: Vec<Arc<dyn Informed>>) -> Arc<dyn Store> {
    if states.is_empty() { store } else { Arc::new(RecordingWrites { store, states }) }
}

struct RecordingWrites {
    store: Arc<dyn Store>,
    states: Vec<Arc<dyn Informed>>,
}

#[async_trait]
impl Layer for RecordingWrites {
    fn below(&self) -> &dyn Store {
        &*self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, StoreError> {
        // Empty for nearly every write, and then it allocates no memory.
        let touched: Vec<&Arc<dyn Informed>> =
            self.states.iter().filter(|state| touches(&txn, &***state)).collect();
        let outcome = self.store.txn(txn).await;
        if let Ok(Outcome::Committed { revision }) = outcome {
            touched.iter().for_each(|state| state.record_write(revision));
        }
        outcome
    }
}

fn touches(txn: &Txn, state: &dyn Informed) -> bool {
    let follows = |key: &[u8]| state.prefixes().iter().any(|prefix| key.starts_with(prefix));
    txn.operations.iter().any(|operation| follows(operation.key()))
}
