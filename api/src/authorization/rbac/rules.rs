//! The newest rules, as fresh as this node's state.
//!
//! Invariants: [`Rules::current`] never answers from rules that are older than the state this node had applied when it was
//! called, nor than any write of a role or binding that was acknowledged through this node before; so whoever has been told
//! that a binding exists finds it in force. Checking that costs a comparison of two numbers when nothing was written, and
//! a look at the watch of the rules when something else was. Readers of an index never wait for each other or for a change
//! under way. On another node a change is in force as soon as that node has applied it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_meta::Status;
use quorate_store::{
    Entry, Error as StoreError, Event, HistoryError, Outcome, Revision, Snapshot, Status as StoreStatus, Store, Txn,
    Watch,
};
use tokio::sync::watch;
use tokio::time::timeout;

use super::index::{Index, Object};
use crate::error::Error;
use crate::registry::{Registry, Resource, form};

/// How long a request waits for the first state, or for a write of this node's to be applied here.
const PATIENCE: Duration = Duration::from_secs(5);
/// Objects that are read before other tasks run.
const READ_AT_ONCE: usize = 128;

/// Every rule, kept in step with a store.
pub(crate) struct Rules {
    store: Arc<dyn Store>,
    resources: [Arc<Resource>; 4],
    prefix: Bytes,
    index: ArcSwap<Index>,
    /// The index is complete up to this revision.
    complete: AtomicU64,
    /// The newest write of a rule that was acknowledged through this node.
    written: Arc<AtomicU64>,
    /// What the index has not taken in yet; `None` while it has to be read anew.
    changes: Mutex<Option<Watch>>,
    synced: watch::Sender<bool>,
}

impl Rules {
    /// No rules yet; they are read by the feed. `None` when the registry does not serve roles and bindings. `group` is their
    /// group's name.
    pub(crate) fn new(store: Arc<dyn Store>, registry: &Registry, group: &str) -> Option<Self> {
        let find = |plural: &str| registry.find(group, "v1", plural).cloned();
        let resources = [find("roles")?, find("clusterroles")?, find("rolebindings")?, find("clusterrolebindings")?];
        Some(Self {
            store,
            resources,
            prefix: format!("o/{group}/").into(),
            index: ArcSwap::default(),
            complete: AtomicU64::new(0),
            written: Arc::default(),
            changes: Mutex::new(None),
            synced: watch::Sender::new(false),
        })
    }

    /// The same store, with writes of rules noted.
    pub(crate) fn noting(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Noting { store, prefix: self.prefix.clone(), written: self.written.clone() })
    }

    /// The rules now.
    ///
    /// # Errors
    /// 503 while they have not been read yet.
    pub(crate) async fn current(&self) -> Result<Arc<Index>, Error> {
        let written = Revision::new(self.written.load(Ordering::Acquire));
        let applied = self.store.snapshot().revision();
        if applied < written && timeout(PATIENCE, self.store.applied(written)).await.is_err() {
            return Err(not_ready("this node has not caught up with a change of the rules"));
        }
        let wanted = applied.max(written);
        if self.complete.load(Ordering::Acquire) < wanted.get() && !self.catch_up() {
            let mut synced = self.synced.subscribe();
            // The sender lives as long as this borrow of its owner.
            let waiting = timeout(PATIENCE, synced.wait_for(|synced| *synced));
            if !matches!(waiting.await, Ok(Ok(_))) || !self.catch_up() {
                return Err(not_ready("the rules of roles and bindings have not been read yet"));
            }
        }
        Ok(self.index.load_full())
    }

    /// Whether the rules have been read.
    pub(crate) fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// The rules as far as they have been taken in.
    pub(crate) fn known(&self) -> Arc<Index> {
        self.index.load_full()
    }

    /// Takes in everything that this node has applied; `false` when the index has to be read anew.
    pub(super) fn catch_up(&self) -> bool {
        let mut changes = self.changes.lock();
        let Some(watch) = changes.as_mut() else { return false };
        let mut next: Option<Index> = None;
        loop {
            match watch.try_next() {
                Ok(Some(batch)) => {
                    let index = next.get_or_insert_with(|| Index::clone(&self.index.load()));
                    batch.events().for_each(|event| self.take(index, event));
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "the rules are read anew");
                    *changes = None;
                    self.synced.send_replace(false);
                    return false;
                }
            }
        }
        if let Some(next) = next {
            self.index.store(Arc::new(next));
        }
        self.complete.store(watch.position().get(), Ordering::Release);
        true
    }

    /// Reads all rules.
    ///
    /// # Errors
    /// When the store no longer has the changes since the state that was read.
    pub(super) async fn read(&self) -> Result<(), HistoryError> {
        let snapshot = self.store.snapshot();
        let mut index = Index::default();
        for (turn, (key, entry)) in snapshot.range(&self.prefix, None).enumerate() {
            self.change(&mut index, key, None, Some(entry));
            if turn % READ_AT_ONCE == READ_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
        }
        let watch = self.store.watch(self.prefix.clone(), snapshot.revision())?;
        let mut changes = self.changes.lock();
        self.index.store(Arc::new(index));
        *changes = Some(watch);
        drop(changes);
        self.catch_up();
        self.synced.send_replace(true);
        Ok(())
    }

    /// A watch that tells when there is something to take in.
    pub(super) fn bell(&self) -> Result<Watch, HistoryError> {
        self.store.watch(self.prefix.clone(), Revision::new(self.complete.load(Ordering::Acquire)))
    }

    fn take(&self, index: &mut Index, event: &Event) {
        self.change(index, &event.key, event.previous.as_ref(), event.current.as_ref());
    }

    fn change(&self, index: &mut Index, key: &[u8], before: Option<&Entry>, now: Option<&Entry>) {
        let found =
            self.resources.iter().enumerate().find_map(|(at, resource)| Some((at, resource, resource.parse_key(key)?)));
        let Some((at, resource, (namespace, name))) = found else { return };
        let namespace = namespace.unwrap_or_default();
        let object = match at {
            0 => Object::Role { namespace, name },
            1 => Object::ClusterRole { name },
            _ => Object::Binding { namespace, name },
        };
        let read = |entry: Option<&Entry>| {
            let read = entry.map(|entry| form::decode(resource, entry)).transpose();
            read.unwrap_or_else(|error| {
                // Nothing is granted by what cannot be read.
                tracing::error!(%error, "a rule is left out");
                None
            })
        };
        index.change(object, read(before).as_ref(), read(now).as_ref());
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("complete", &self.complete).finish_non_exhaustive()
    }
}

fn not_ready(why: &str) -> Error {
    Status::service_unavailable(why).with_retry_after(1).into()
}

/// A store that notes which of the writes that it acknowledges change rules.
struct Noting {
    store: Arc<dyn Store>,
    prefix: Bytes,
    written: Arc<AtomicU64>,
}

#[async_trait]
impl Store for Noting {
    async fn read_index(&self) -> Result<Revision, StoreError> {
        self.store.read_index().await
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

    async fn txn(&self, txn: Txn) -> Result<Outcome, StoreError> {
        let notable = txn.operations.iter().any(|operation| operation.key().starts_with(&self.prefix));
        let outcome = self.store.txn(txn).await;
        if let (true, Ok(Outcome::Committed { revision })) = (notable, &outcome) {
            self.written.fetch_max(revision.get(), Ordering::AcqRel);
        }
        outcome
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.store.watch(prefix, after)
    }

    fn status(&self) -> StoreStatus {
        self.store.status()
    }
}
