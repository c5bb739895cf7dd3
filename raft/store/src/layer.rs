//! A store on top of another one: what a layer does not do itself, the store below does.
//!
//! Invariant: a layer that only says what is below it is that store in every respect.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Error, HistoryError, Limits, Outcome, Past, Revision, Snapshot, Status, Store, Txn, Watch,
};

/// The methods of a [`Store`], each of which goes to the store below unless the layer has its own.
#[async_trait]
pub trait Layer: Send + Sync + 'static {
    /// The store below.
    fn below(&self) -> &dyn Store;

    /// See [`Store::read_index`].
    async fn read_index(&self) -> Result<Revision, Error> {
        self.below().read_index().await
    }

    /// See [`Store::snapshot`].
    fn snapshot(&self) -> Snapshot {
        self.below().snapshot()
    }

    /// See [`Store::snapshot_at`].
    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.below().snapshot_at(at)
    }

    /// See [`Store::applied`].
    async fn applied(&self, at: Revision) {
        self.below().applied(at).await;
    }

    /// See [`Store::txn`].
    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        self.below().txn(txn).await
    }

    /// See [`Store::limits`].
    fn limits(&self) -> Limits {
        self.below().limits()
    }

    /// See [`Store::watch`].
    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.below().watch(prefix, after)
    }

    /// See [`Store::past`].
    fn past(&self) -> Option<Arc<dyn Past>> {
        self.below().past()
    }

    /// See [`Store::status`].
    fn status(&self) -> Status {
        self.below().status()
    }
}

#[async_trait]
impl<L: Layer> Store for L {
    async fn read_index(&self) -> Result<Revision, Error> {
        Layer::read_index(self).await
    }

    fn snapshot(&self) -> Snapshot {
        Layer::snapshot(self)
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        Layer::snapshot_at(self, at)
    }

    async fn applied(&self, at: Revision) {
        Layer::applied(self, at).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        Layer::txn(self, txn).await
    }

    fn limits(&self) -> Limits {
        Layer::limits(self)
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        Layer::watch(self, prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        Layer::past(self)
    }

    fn status(&self) -> Status {
        Layer::status(self)
    }
}
