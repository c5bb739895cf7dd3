//! The publisher of custom resources: when this node takes up a change of definitions.
//!
//! Invariants: after [`Publisher::catch_up`] the catalogue has every definition that this node has
//! applied, and every change of one that it has acknowledged. Between requests the catalogue
//! follows within the time that a task takes to wake up.
//!
//! Not here: what is published ([`super::serving`]).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use quorate_registry::derived::{DerivedState, DerivedStateOptions, Informed};
use quorate_registry::error::Error;
use quorate_registry::{CurrentCatalogue, DEFINITIONS, EXTENSIONS, Resource};
use quorate_store::Store;
use tokio::time::timeout;

use super::conversion::Webhooks;
use super::serving::{Definitions, Serving};

/// How long a request for something unknown waits for the newest state.
const NEWEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Keeps the catalogue of one node in step with the stored definitions.
pub struct Publisher {
    store: Arc<dyn Store>,
    definitions: Arc<DerivedState<Definitions>>,
    serving: Serving,
    /// One more than the epoch of the definitions that are published.
    published: AtomicU64,
}

impl Publisher {
    /// A publisher for this catalogue; publishes nothing yet. `None` when the catalogue has no
    /// definitions.
    #[must_use]
    pub fn new(
        catalogue: &Arc<CurrentCatalogue>,
        store: Arc<dyn Store>,
        webhooks: Webhooks,
    ) -> Option<Self> {
        let current = catalogue.load();
        let group = current.graph().names().group(EXTENSIONS);
        let resource = current.find_builtin(&group, "v1", DEFINITIONS)?.clone();
        let definitions = Arc::new(DerivedState::new(DerivedStateOptions {
            store: store.clone(),
            prefixes: vec![resource.prefix(None)],
            resources: vec![resource],
            what: "definitions of custom resources",
        }));
        let serving = Serving::new(catalogue.clone(), webhooks);
        let published = AtomicU64::new(0);
        Some(Self { store, definitions, serving, published })
    }

    /// The state that it derives, for the informer of the node.
    #[must_use]
    pub fn derived_state(&self) -> Arc<dyn Informed> {
        self.definitions.clone()
    }

    /// Whether the definitions have been published once.
    #[must_use]
    pub fn has_published(&self) -> bool {
        self.published.load(Ordering::Acquire) > 0
    }

    /// Whether a change that this node has acknowledged may still be missing from the catalogue.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.definitions.is_behind()
    }

    /// Publishes what this node has applied and acknowledged.
    ///
    /// # Errors
    /// 503 when the definitions have not been read, or an acknowledged change has not been applied,
    /// within some seconds.
    pub async fn catch_up(&self) -> Result<(), Error> {
        self.definitions.current().await?;
        self.publish();
        Ok(())
    }

    /// Publishes what the cluster had acknowledged before this call; where no leader can be asked,
    /// what this node has applied. For requests about something that is not in the catalogue: their
    /// client may have seen another node serve it.
    ///
    /// # Errors
    /// As [`Publisher::catch_up`].
    pub async fn catch_up_with_cluster(&self) -> Result<(), Error> {
        // Without an answer of the leader this node's own state is as good as any.
        let _ = timeout(NEWEST_TIMEOUT, self.store.read_index()).await;
        self.catch_up().await
    }

    /// Publishes what this node has applied. Never waits: where the definitions have not been read
    /// yet, the caller reads them all.
    pub fn follow(&self) {
        self.serving.publish(|| Definitions::clone(&self.definitions.applied()));
    }

    /// The resources of a stored definition, whether that is still there or not.
    ///
    /// # Errors
    /// What is wrong with a value that does not read back.
    pub fn resources_of(&self, definition: &Bytes) -> Result<Vec<Arc<Resource>>, String> {
        self.serving.resources_of(definition)
    }

    /// Publishes changes as they are applied; never returns.
    pub async fn run(&self) {
        loop {
            let epoch = self.definitions.epoch();
            self.publish();
            self.definitions.changed(epoch).await;
        }
    }

    fn publish(&self) {
        let next = self.definitions.epoch() + 1;
        if self.published.load(Ordering::Acquire) < next {
            self.serving.publish(|| Definitions::clone(&self.definitions.cached()));
            self.published.fetch_max(next, Ordering::AcqRel);
        }
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("serving", &self.serving).finish_non_exhaustive()
    }
}
