//! The informer: the one task of a node that reads the objects of all derived states when the node
//! starts, and applies changes as they arrive, so that requests rarely have to.
//!
//! Invariant: no reader gets an older value because the informer is late or stopped.
//!
//! Not here: freshness, which is the [`DerivedState`]'s.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join_all;
use quorate_store::Revision;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::{Derived, DerivedState};

/// How long to wait after a failure before the objects are read again.
const RETRY: Duration = Duration::from_millis(100);

/// A derived state, of any value.
#[async_trait]
pub trait Informed: Debug + Send + Sync {
    /// Reads the objects and applies their changes as they arrive; never returns.
    async fn follow(&self);

    /// The prefixes of the objects' keys.
    fn prefixes(&self) -> &[Bytes];

    /// Records that this node has acknowledged a write of such an object.
    fn record_write(&self, at: Revision);

    /// Whether the objects have been read and no change was missed since.
    fn is_synced(&self) -> bool;
}

#[async_trait]
impl<D: Derived> Informed for DerivedState<D> {
    async fn follow(&self) {
        loop {
            if let Err(error) = self.follow_changes().await {
                tracing::warn!(%error, "{} are read anew", self.options.what);
            }
            sleep(RETRY).await;
        }
    }

    fn prefixes(&self) -> &[Bytes] {
        &self.options.prefixes
    }

    fn record_write(&self, at: Revision) {
        self.acknowledged.fetch_max(at.get(), std::sync::atomic::Ordering::AcqRel);
    }

    fn is_synced(&self) -> bool {
        Self::is_synced(self)
    }
}

/// The input of an informer.
#[derive(Debug, Clone)]
pub struct InformerOptions {
    /// The derived states of the node.
    pub states: Vec<Arc<dyn Informed>>,
}

/// Updates the derived states of one node from its store.
#[derive(Debug)]
pub struct Informer {
    options: InformerOptions,
    stop: Arc<Notify>,
}

/// Stops an informer. Dropping it does not.
#[derive(Debug, Clone)]
pub struct InformerHandle {
    stop: Arc<Notify>,
}

impl InformerHandle {
    /// Stops [`Informer::run`] at once.
    pub fn stop(&self) {
        self.stop.notify_one();
    }
}

impl Informer {
    /// The service and its handle.
    #[must_use]
    pub fn new(options: InformerOptions) -> (Self, InformerHandle) {
        let stop = Arc::<Notify>::default();
        (Self { options, stop: stop.clone() }, InformerHandle { stop })
    }

    /// Runs until stopped; returns at once when there is no derived state.
    pub async fn run(self) {
        tokio::select! {
            biased;
            () = self.stop.notified() => {}
            _ = join_all(self.options.states.iter().map(|state| state.follow())) => {}
        }
    }
}
