//! What is derived from stored objects, as fresh as this node's state.
//!
//! Invariants: [`DerivedState::current`] never answers from what is older than the state this node had applied when it was called,
//! nor than any write of such an object that was acknowledged through this node before; so whoever has been told that a
//! binding exists finds it in force. Checking that costs a comparison of two numbers when nothing was written, and a look at
//! the watches when something else was. Readers never wait for each other or for a change under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use futures::future::select_all;
use parking_lot::Mutex;
use quorate_meta::{Status, Value};
use quorate_store::{Entry, Error as StoreError, Event, HistoryError, Layer, Outcome, Revision, Store, Txn, Watch};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::error::Error;
use crate::{Resource, stored_codec};

/// How long a request waits for the first state, or for a write of this node's to be applied here.
const PATIENCE: Duration = Duration::from_secs(5);
/// Objects that are read before other tasks run.
const READ_AT_ONCE: usize = 128;

/// What can be derived from objects one by one. A copy is cheap.
pub trait Derived: Clone + Default + Send + Sync + 'static {
    /// Takes in a change of one object.
    fn take(&mut self, change: ObjectChange<'_>);
}

/// One object: what it was, and what it is now.
#[derive(Debug, Clone, Copy)]
pub struct ObjectChange<'a> {
    /// The plural name of its resource.
    pub plural: &'a str,
    /// Empty for the cluster's.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What it was; `None` when it is new.
    pub before: Option<&'a Value>,
    /// What it is; `None` when it is gone.
    pub now: Option<&'a Value>,
}

/// What is followed.
pub struct DerivedStateOptions {
    /// Where the objects live.
    pub store: Arc<dyn Store>,
    /// The resources of the objects.
    pub resources: Vec<Arc<Resource>>,
    /// What their keys begin with.
    pub prefixes: Vec<Bytes>,
    /// What is derived, for people: `the rules of roles and bindings`.
    pub what: &'static str,
}

/// Something derived, kept in step with a store.
pub struct DerivedState<D> {
    options: DerivedStateOptions,
    derived: ArcSwap<D>,
    /// It is complete up to this revision.
    complete: AtomicU64,
    /// How often it has changed.
    epoch: AtomicU64,
    /// The newest write of such an object that was acknowledged through this node.
    written: Arc<AtomicU64>,
    /// What has not been taken in yet, a watch for each prefix; `None` while all has to be read anew.
    changes: Mutex<Option<Vec<Watch>>>,
    synced: watch::Sender<bool>,
}

impl<D: Derived> DerivedState<D> {
    /// Nothing yet; it is read by the feed.
    pub fn new(options: DerivedStateOptions) -> Self {
        Self {
            options,
            derived: ArcSwap::from_pointee(D::default()),
            complete: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            written: Arc::default(),
            changes: Mutex::new(None),
            synced: watch::Sender::new(false),
        }
    }

    /// The same store, with writes of such objects noted.
    pub fn noting(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Noting { store, prefixes: self.options.prefixes.clone(), written: self.written.clone() })
    }

    /// What follows from the objects now.
    ///
    /// # Errors
    /// 503 while they have not been read yet.
    pub async fn current(&self) -> Result<Arc<D>, Error> {
        let DerivedStateOptions { store, what, .. } = &self.options;
        let written = Revision::new(self.written.load(Ordering::Acquire));
        let applied = store.snapshot().revision();
        if applied < written && timeout(PATIENCE, store.applied(written)).await.is_err() {
            return Err(not_ready(format!("this node has not caught up with a change of {what}")));
        }
        let wanted = applied.max(written);
        if self.complete.load(Ordering::Acquire) < wanted.get() && !self.catch_up() {
            let mut synced = self.synced.subscribe();
            // The sender lives as long as this borrow of its owner.
            let waiting = timeout(PATIENCE, synced.wait_for(|synced| *synced));
            if !matches!(waiting.await, Ok(Ok(_))) || !self.catch_up() {
                return Err(not_ready(format!("{what} have not been read yet")));
            }
        }
        Ok(self.derived.load_full())
    }

    /// A number that is another one after each change.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether all has been read.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// What follows from the objects as far as they have been taken in.
    pub fn known(&self) -> Arc<D> {
        self.derived.load_full()
    }

    /// Reads everything and follows it. Returns when all has to be read anew.
    pub async fn follow(&self) -> Result<(), HistoryError> {
        self.read().await?;
        let from = Revision::new(self.complete.load(Ordering::Acquire));
        let DerivedStateOptions { store, prefixes, .. } = &self.options;
        let mut bells =
            prefixes.iter().map(|prefix| store.watch(prefix.clone(), from)).collect::<Result<Vec<_>, _>>()?;
        loop {
            select_all(bells.iter_mut().map(|bell| Box::pin(bell.next()))).await.0?;
            if !self.catch_up() {
                return Ok(());
            }
        }
    }

    /// Takes in everything that this node has applied; `false` when all has to be read anew.
    fn catch_up(&self) -> bool {
        let mut changes = self.changes.lock();
        let Some(watches) = changes.as_mut() else { return false };
        let mut next: Option<D> = None;
        for watch in watches.iter_mut() {
            loop {
                match watch.try_next() {
                    Ok(Some(batch)) => {
                        let derived = next.get_or_insert_with(|| D::clone(&self.derived.load()));
                        batch.events().for_each(|event| self.take(derived, event));
                    }
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%error, "{} are read anew", self.options.what);
                        *changes = None;
                        self.synced.send_replace(false);
                        return false;
                    }
                }
            }
        }
        if let Some(next) = next {
            self.put(next);
        }
        // One may have been looked through before, another after a write.
        let complete = watches.iter_mut().map(|watch| watch.position().get()).min().unwrap_or_default();
        self.complete.store(complete, Ordering::Release);
        true
    }

    async fn read(&self) -> Result<(), HistoryError> {
        let DerivedStateOptions { store, prefixes, .. } = &self.options;
        let snapshot = store.snapshot();
        let mut derived = D::default();
        for prefix in prefixes {
            for (turn, (key, entry)) in snapshot.range(prefix, None).enumerate() {
                self.change(&mut derived, key, None, Some(entry));
                if turn % READ_AT_ONCE == READ_AT_ONCE - 1 {
                    tokio::task::yield_now().await;
                }
            }
        }
        let watches = prefixes.iter().map(|prefix| store.watch(prefix.clone(), snapshot.revision()));
        let watches = watches.collect::<Result<Vec<_>, _>>()?;
        let mut changes = self.changes.lock();
        self.put(derived);
        *changes = Some(watches);
        drop(changes);
        self.catch_up();
        self.synced.send_replace(true);
        Ok(())
    }

    fn put(&self, derived: D) {
        self.derived.store(Arc::new(derived));
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    fn take(&self, derived: &mut D, event: &Event) {
        self.change(derived, &event.key, event.previous.as_ref(), event.current.as_ref());
    }

    fn change(&self, derived: &mut D, key: &[u8], before: Option<&Entry>, now: Option<&Entry>) {
        let mut resources = self.options.resources.iter();
        let found = resources.find_map(|resource| Some((resource, resource.parse_key(key)?)));
        let Some((resource, (namespace, name))) = found else { return };
        let read = |entry: Option<&Entry>| {
            let read = entry.map(|entry| stored_codec::decode(resource, entry)).transpose();
            read.unwrap_or_else(|error| {
                // Nothing is granted by what cannot be read.
                tracing::error!(%error, resource = resource.qualified(), namespace, name, "an object is left out");
                None
            })
        };
        let (before, now) = (read(before), read(now));
        let (plural, namespace) = (resource.plural.as_str(), namespace.unwrap_or_default());
        derived.take(ObjectChange { plural, namespace, name, before: before.as_ref(), now: now.as_ref() });
    }
}

impl<D> std::fmt::Debug for DerivedState<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DerivedState").field("complete", &self.complete).finish_non_exhaustive()
    }
}

fn not_ready(why: String) -> Error {
    Status::service_unavailable(why).with_retry_after(1).into()
}

/// A store that notes which of the writes that it acknowledges change what is followed.
struct Noting {
    store: Arc<dyn Store>,
    prefixes: Vec<Bytes>,
    written: Arc<AtomicU64>,
}

#[async_trait]
impl Layer for Noting {
    fn below(&self) -> &dyn Store {
        &*self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, StoreError> {
        let is_followed = |key: &[u8]| self.prefixes.iter().any(|prefix| key.starts_with(prefix));
        let notable = txn.operations.iter().any(|operation| is_followed(operation.key()));
        let outcome = self.store.txn(txn).await;
        if let (true, Ok(Outcome::Committed { revision })) = (notable, &outcome) {
            self.written.fetch_max(revision.get(), Ordering::AcqRel);
        }
        outcome
    }
}
