//! What the cluster's own objects say of a write: defaults and limits of a namespace, classes, levels of security, quotas.
//!
//! One plugin per file, in the order of [`PLUGINS`]: each gives a new object what it should have, then each looks at the valid object,
//! quotas last, because they count only what is let through. Invariants: plugins are stateless and read nothing but a [`World`];
//! a refusal is told only from a state that is known to be current, and what a plugin lets through from an older one is bound to the
//! objects whose numbers it has changed.

mod plugin;
pub mod plugins;
mod quota_lock;
mod snapshot_view;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use quorate_meta::{Names, Value};
use quorate_store::Store;

use plugins::PLUGINS;
use quorate_registry::error::Error;
use quorate_registry::{Change, CurrentCatalogue, Terms};
pub use quota_lock::QuotaLocks;
use snapshot_view::World;

/// All plugins over one store.
pub struct Admission {
    names: &'static Names,
    catalogue: Arc<CurrentCatalogue>,
    store: Arc<dyn Store>,
    quota_locks: Arc<QuotaLocks>,
}

impl Admission {
    /// All plugins over a store.
    #[must_use]
    pub fn new(names: &'static Names, catalogue: Arc<CurrentCatalogue>, store: Arc<dyn Store>) -> Self {
        Self { names, catalogue, store, quota_locks: Arc::default() }
    }

    /// The locks of writes that are charged to quotas.
    #[must_use]
    pub fn quota_locks(&self) -> &Arc<QuotaLocks> {
        &self.quota_locks
    }

    /// What all plugins say of a valid object.
    async fn terms(&self, change: &Change<'_>, new: &Value) -> Result<Terms, Error> {
        self.ask(|world| {
            let mut terms = Terms::default();
            PLUGINS.iter().try_for_each(|plugin| plugin.check(world, change, new, &mut terms))?;
            Ok(terms)
        })
        .await
    }

    /// Asks in the state at hand, and when that refuses in a current one.
    async fn ask<T>(&self, mut ask: impl FnMut(&World<'_>) -> Result<T, Error> + Send) -> Result<T, Error> {
        let answer = ask(&World::new(self.names, &self.catalogue.load(), &self.store.snapshot()));
        if answer.is_ok() {
            return answer;
        }
        self.store.read_index().await?;
        ask(&World::new(self.names, &self.catalogue.load(), &self.store.snapshot()))
    }
}

#[async_trait]
impl quorate_registry::Admission for Admission {
    async fn complete(&self, change: &Change<'_>, object: &mut Value) -> Result<(), Error> {
        let plugins: Vec<_> = PLUGINS.iter().filter(|plugin| plugin.completes(self.names, change)).collect();
        if plugins.is_empty() {
            return Ok(());
        }
        let given = &*object;
        let completed = self.ask(|world| {
            let mut object = given.clone();
            plugins.iter().try_for_each(|plugin| plugin.complete(world, change, &mut object))?;
            Ok(object)
        });
        *object = completed.await?;
        Ok(())
    }

    async fn check(&self, change: &Change<'_>, new: &Value) -> Result<Terms, Error> {
        let terms = self.terms(change, new).await?;
        // Only what is charged gets in the way of others; what is refused does not wait for them either.
        let Some(namespace) = change.target.namespace.filter(|_| !terms.operations.is_empty()) else {
            return Ok(terms);
        };
        let turn = self.quota_locks.wait(namespace).await;
        let terms = if terms.hold_in(&self.store.snapshot()) { terms } else { self.terms(change, new).await? };
        Ok(Terms { turn, ..terms })
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
