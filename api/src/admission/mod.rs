//! What the cluster's own objects say of a write: defaults and limits of a namespace, classes, levels of security, quotas.
//!
//! One plugin per file, in the order of [`PLUGINS`]: each gives a new object what it should have, then each looks at the valid object,
//! quotas last, because they count only what is let through. Invariants: plugins are stateless and read nothing but a [`World`];
//! a refusal is told only from a state that is known to be current, and what a plugin lets through from an older one is bound to the
//! objects whose numbers it has changed.

mod admin_access;
mod amounts;
mod ingress_class;
mod limit_range;
mod pod_security;
mod pod_topology;
mod priority;
pub(crate) mod quota;
mod runtime_class;
mod service_account;
mod storage_class;
mod turns;
mod world;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use quorate_meta::{Names, Value};
use quorate_store::Store;
use tokio::sync::OwnedMutexGuard;

use crate::error::Error;
use crate::registry::{Change, Registry, Terms};
use turns::Turns;
use world::World;

/// Decides about writes; see the module.
trait Plugin: Sync {
    /// Whether it has something to give to a new object of this resource.
    fn completes(&self, names: &Names, change: &Change<'_>) -> bool {
        let _ = (names, change);
        false
    }

    /// Gives a new object what others say that it should have.
    fn complete(&self, world: &World<'_>, change: &Change<'_>, object: &mut Value) -> Result<(), Error> {
        let _ = (world, change, object);
        Ok(())
    }

    /// Lets a valid object through.
    fn check(&self, world: &World<'_>, change: &Change<'_>, new: &Value, terms: &mut Terms) -> Result<(), Error> {
        let _ = (world, change, new, terms);
        Ok(())
    }
}

const PLUGINS: &[&dyn Plugin] = &[
    &limit_range::LimitRanger,
    &service_account::ServiceAccount,
    &pod_security::PodSecurity,
    &priority::Priority,
    &storage_class::DefaultStorageClass,
    &ingress_class::DefaultIngressClass,
    &runtime_class::RuntimeClass,
    &pod_topology::PodTopology,
    &admin_access::AdminAccess,
    &quota::ResourceQuota,
];

/// All plugins over one store.
pub(crate) struct Admission {
    names: &'static Names,
    registry: Arc<Registry>,
    store: Arc<dyn Store>,
    turns: Turns,
}

impl Admission {
    pub(crate) fn new(names: &'static Names, registry: Arc<Registry>, store: Arc<dyn Store>) -> Self {
        Self { names, registry, store, turns: Turns::default() }
    }

    /// The turn of writes that the quotas of a namespace are charged for; `None` when there are too many for it to come soon.
    pub(crate) async fn turn(&self, namespace: &str) -> Option<OwnedMutexGuard<()>> {
        self.turns.wait(namespace).await
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
        let answer = ask(&World::new(self.names, &self.registry, &self.store.snapshot()));
        if answer.is_ok() {
            return answer;
        }
        self.store.read_index().await?;
        ask(&World::new(self.names, &self.registry, &self.store.snapshot()))
    }
}

#[async_trait]
impl crate::registry::Admission for Admission {
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
        let turn = self.turn(namespace).await;
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
