//! Derived states: values that follow from stored objects, as new as what this node has applied.
//!
//! A [`Derived`] value is updated with the objects of some resources one by one. Its
//! [`DerivedState`] reads them once, follows a watch of them, and shares the value with all readers
//! as an immutable `Arc`. The rules of RBAC, the graph of the node authorizer and the flow schemas
//! are derived states; so may be definitions, policies, webhooks, API services and quotas.
//!
//! Invariants:
//! - [`DerivedState::applied`] is never older than the state that this node had applied when it was
//!   called. [`DerivedState::current`] is in addition never older than a write of such an object
//!   that this node has acknowledged before: a client that has created a RoleBinding finds it in
//!   force.
//! - A value changes only when one of its objects has: where nothing was written, a reader compares
//!   two numbers; where other objects were, it looks at the watches once. Readers wait neither for
//!   each other nor for a change under way.
//! - [`DerivedState::epoch`] differs whenever the value may differ.
//!
//! Not here: what is derived. The task that reads ahead of requests is the [`Informer`]; the
//! acknowledged writes are recorded by [`recording_writes`].

mod informer;
#[cfg(test)]
mod tests;
mod writes;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::future::select_all;
use parking_lot::Mutex;
use quorate_meta::{Names, Status, Value};
use quorate_store::{Entry, HistoryError, Revision, Snapshot, Store, Watch};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::error::Error;
use crate::{Resource, stored_codec};

pub use informer::{Informed, Informer, InformerHandle, InformerOptions};
pub use writes::recording_writes;

/// How long a reader waits for the first read, or until an acknowledged write is applied here.
const SYNC_TIMEOUT: Duration = Duration::from_secs(5);
/// Objects that are read before other tasks run.
const OBJECTS_PER_TURN: usize = 128;

/// A value that follows from objects. Cloning is cheap: a changed copy shares what has not changed.
/// It is updated with objects, or, where it needs little of large ones, with what is stored of them.
pub trait Derived: Clone + Default + Send + Sync + 'static {
    /// Updates the value with the change of one object. On the first read every object is a new
    /// one.
    fn update(&mut self, change: ObjectChange<'_>) {
        let _ = change;
    }

    /// Updates the value with the change of one stored object, which is decoded for
    /// [`Derived::update`].
    fn update_stored(&mut self, change: StoredChange<'_>) {
        change.decode(|change| self.update(change));
    }

    /// Completes what depends on several objects, after one or more updates and before readers see
    /// the value.
    fn finish(&mut self) {}
}

/// The change of one object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectChange<'a> {
    /// The plural name of its resource.
    pub plural: &'a str,
    /// The names of the cluster's profile.
    pub names: &'static Names,
    /// Empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The object before; `None` when it is new.
    pub old: Option<&'a Value>,
    /// The object now; `None` when it was deleted, or cannot be read: an unreadable object counts
    /// as absent.
    pub new: Option<&'a Value>,
    /// The revision of the change; on the first read that of the object.
    pub at: Revision,
}

/// The change of one object, as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredChange<'a> {
    /// Its resource.
    pub resource: &'a Resource,
    /// Empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What was stored before; `None` when it is new.
    pub old: Option<&'a Entry>,
    /// What is stored now; `None` when it was deleted.
    pub new: Option<&'a Entry>,
    /// The revision of the change; on the first read that of the object.
    pub at: Revision,
}

impl StoredChange<'_> {
    /// Hands over the change with its objects decoded.
    fn decode(self, update: impl FnOnce(ObjectChange<'_>)) {
        let Self { resource, namespace, name, at, .. } = self;
        let decode = |entry: Option<&Entry>| {
            let decoded = entry.map(|entry| stored_codec::decode(resource, entry)).transpose();
            decoded.unwrap_or_else(|error| {
                self.left_out(&error);
                None
            })
        };
        let (old, new) = (decode(self.old), decode(self.new));
        let plural = resource.plural.as_str();
        update(ObjectChange {
            plural,
            names: resource.graph().names(),
            namespace,
            name,
            old: old.as_ref(),
            new: new.as_ref(),
            at,
        });
    }

    /// Logs that the object counts as absent, because it cannot be read.
    pub fn left_out(&self, error: &dyn fmt::Display) {
        let Self { resource, namespace, name, .. } = self;
        tracing::error!(%error, resource = resource.qualified(), namespace, name, "an object is left out");
    }
}

/// The definition of a [`DerivedState`].
pub struct DerivedStateOptions {
    /// Where the objects are stored.
    pub store: Arc<dyn Store>,
    /// The resources of the objects.
    pub resources: Vec<Arc<Resource>>,
    /// The prefixes of the objects' keys; each takes a watch.
    pub prefixes: Vec<Bytes>,
    /// What the value is derived from, a plural for messages: `the rules of roles and bindings`.
    pub what: &'static str,
}

/// A value derived from the objects of a store, and kept in step with it.
pub struct DerivedState<D> {
    options: DerivedStateOptions,
    value: ArcSwap<D>,
    /// The revision up to which the value is complete.
    complete: AtomicU64,
    /// The number of changes of the value.
    epoch: AtomicU64,
    /// The newest write of such an object that this node has acknowledged.
    acknowledged: AtomicU64,
    /// The watches with changes that the value does not have yet, one for each prefix; `None` while
    /// the objects have to be read again.
    changes: Mutex<Option<Vec<Watch>>>,
    synced: watch::Sender<bool>,
    changed: Notify,
}

impl<D: Derived> DerivedState<D> {
    /// The value of no objects. The [`Informer`] reads them, or the first call of
    /// [`DerivedState::applied`].
    #[must_use]
    pub fn new(options: DerivedStateOptions) -> Self {
        Self {
            options,
            value: ArcSwap::from_pointee(D::default()),
            complete: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            changes: Mutex::new(None),
            synced: watch::Sender::new(false),
            changed: Notify::new(),
        }
    }

    /// The value as of everything that this node has applied or acknowledged.
    ///
    /// # Errors
    /// 503 when the objects have not been read, or an acknowledged write has not been applied,
    /// within `SYNC_TIMEOUT`.
    pub async fn current(&self) -> Result<Arc<D>, Error> {
        let DerivedStateOptions { store, what, .. } = &self.options;
        let acknowledged = Revision::new(self.acknowledged.load(Ordering::Acquire));
        let applied = store.snapshot().revision();
        if applied < acknowledged
            && timeout(SYNC_TIMEOUT, store.applied(acknowledged)).await.is_err()
        {
            return Err(not_ready(format!("this node has not caught up with a change of {what}")));
        }
        let wanted = applied.max(acknowledged);
        if self.complete.load(Ordering::Acquire) < wanted.get() && !self.catch_up() {
            let mut synced = self.synced.subscribe();
            // The sender lives as long as this borrow of its owner.
            let waiting = timeout(SYNC_TIMEOUT, synced.wait_for(|synced| *synced));
            if !matches!(waiting.await, Ok(Ok(_))) || !self.catch_up() {
                return Err(not_ready(format!("{what} have not been read yet")));
            }
        }
        Ok(self.value.load_full())
    }

    /// The value as of everything that this node has applied. Never waits; where the objects have
    /// not been read yet, the caller reads them all, so this is for values that are derived from
    /// few objects.
    pub fn applied(&self) -> Arc<D> {
        let applied = self.options.store.snapshot().revision();
        if self.complete.load(Ordering::Acquire) < applied.get() {
            let mut changes = self.changes.lock();
            if !self.catch_up_with(&mut changes) {
                return self.read_at_once(&mut changes);
            }
        }
        self.value.load_full()
    }

    /// The value as of the last change that it was updated with.
    pub fn cached(&self) -> Arc<D> {
        self.value.load_full()
    }

    /// A number that differs after each change of the value.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Returns once the epoch is another one than this; safe to drop and to call again.
    pub async fn changed(&self, epoch: u64) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.epoch() != epoch {
                return;
            }
            changed.await;
        }
    }

    /// Whether the value lacks a write of such an object that this node has acknowledged.
    pub fn is_behind(&self) -> bool {
        self.complete.load(Ordering::Acquire) < self.acknowledged.load(Ordering::Acquire)
    }

    /// Whether the objects have been read and no change was missed since.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Reads the objects unless that was done, and applies their changes as they arrive. Returns
    /// when they have to be read again.
    async fn follow_changes(&self) -> Result<(), HistoryError> {
        if !self.catch_up() {
            self.read().await?;
        }
        let from = Revision::new(self.complete.load(Ordering::Acquire));
        let DerivedStateOptions { store, prefixes, .. } = &self.options;
        let mut wakers = prefixes
            .iter()
            .map(|prefix| store.watch(prefix.clone(), from))
            .collect::<Result<Vec<_>, _>>()?;
        loop {
            select_all(wakers.iter_mut().map(|waker| Box::pin(waker.next()))).await.0?;
            if !self.catch_up() {
                return Ok(());
            }
        }
    }

    /// Applies everything that this node has applied; `false` when the objects have to be read
    /// again.
    fn catch_up(&self) -> bool {
        self.catch_up_with(&mut self.changes.lock())
    }

    fn catch_up_with(&self, changes: &mut Option<Vec<Watch>>) -> bool {
        let Some(watches) = changes else { return false };
        let Err(error) = self.drain(watches, None) else {
            return true;
        };
        tracing::warn!(%error, "{} are read anew", self.options.what);
        *changes = None;
        self.synced.send_replace(false);
        false
    }

    /// Applies the events of the watches, on top of `read` where the objects were just read.
    fn drain(&self, watches: &mut [Watch], read: Option<D>) -> Result<(), HistoryError> {
        let mut next = read;
        for watch in watches.iter_mut() {
            while let Some(batch) = watch.try_next()? {
                let value = next.get_or_insert_with(|| D::clone(&self.value.load()));
                for event in batch.events() {
                    let (old, new) = (event.previous.as_ref(), event.current.as_ref());
                    self.update(value, &event.key, (old, new), batch.revision());
                }
            }
        }
        if let Some(mut next) = next {
            next.finish();
            self.value.store(Arc::new(next));
            self.epoch.fetch_add(1, Ordering::AcqRel);
            self.changed.notify_waiters();
        }
        // One watch may have been drained before a write, another after it.
        let complete =
            watches.iter_mut().map(|watch| watch.position().get()).min().unwrap_or_default();
        self.complete.store(complete, Ordering::Release);
        Ok(())
    }

    /// Reads the objects, and yields to other tasks in between.
    async fn read(&self) -> Result<(), HistoryError> {
        let DerivedStateOptions { store, prefixes, .. } = &self.options;
        let snapshot = store.snapshot();
        let mut value = D::default();
        for prefix in prefixes {
            for (index, (key, entry)) in snapshot.range(prefix, None).enumerate() {
                self.update(&mut value, key, (None, Some(entry)), entry.modified);
                if index % OBJECTS_PER_TURN == OBJECTS_PER_TURN - 1 {
                    tokio::task::yield_now().await;
                }
            }
        }
        self.share(&mut self.changes.lock(), value, &snapshot)
    }

    fn read_at_once(&self, changes: &mut Option<Vec<Watch>>) -> Arc<D> {
        let DerivedStateOptions { store, prefixes, what, .. } = &self.options;
        let snapshot = store.snapshot();
        let mut value = D::default();
        for (key, entry) in prefixes.iter().flat_map(|prefix| snapshot.range(prefix, None)) {
            self.update(&mut value, key, (None, Some(entry)), entry.modified);
        }
        match self.share(changes, value.clone(), &snapshot) {
            Ok(()) => self.value.load_full(),
            Err(error) => {
                tracing::warn!(%error, "{what} cannot be followed and are read for one request");
                value.finish();
                Arc::new(value)
            }
        }
    }

    /// Shares a value that was read from a snapshot, updated by the watches that start there.
    fn share(
        &self,
        changes: &mut Option<Vec<Watch>>,
        value: D,
        snapshot: &Snapshot,
    ) -> Result<(), HistoryError> {
        let DerivedStateOptions { store, prefixes, .. } = &self.options;
        let watches =
            prefixes.iter().map(|prefix| store.watch(prefix.clone(), snapshot.revision()));
        let mut watches = watches.collect::<Result<Vec<_>, _>>()?;
        self.drain(&mut watches, Some(value))?;
        *changes = Some(watches);
        self.synced.send_replace(true);
        Ok(())
    }

    fn update(
        &self,
        value: &mut D,
        key: &[u8],
        (old, new): (Option<&Entry>, Option<&Entry>),
        at: Revision,
    ) {
        let mut resources = self.options.resources.iter();
        let found = resources.find_map(|resource| Some((resource, resource.parse_key(key)?)));
        let Some((resource, (namespace, name))) = found else {
            return;
        };
        let namespace = namespace.unwrap_or_default();
        value.update_stored(StoredChange { resource, namespace, name, old, new, at });
    }
}

impl<D> fmt::Debug for DerivedState<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, complete, epoch, .. } = self;
        f.debug_struct("DerivedState")
            .field("what", &options.what)
            .field("complete", complete)
            .field("epoch", epoch)
            .finish_non_exhaustive()
    }
}

fn not_ready(why: String) -> Error {
    Status::service_unavailable(why).with_retry_after(1).into()
}
