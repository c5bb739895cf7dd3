//! Admission: the built-in plugins (the namespace's defaults, limits and Pod Security levels, the
//! default classes, quotas), and the policies and webhooks of the cluster.
//!
//! One plugin per file, in the order of `PLUGINS`, each with the writes that it handles: the
//! mutating parts set defaults, the validating parts check the valid object, and ResourceQuota
//! comes last, because it counts only what is admitted.
//!
//! Invariants: plugins are stateless and read nothing but a `SnapshotView`; the server's own writes
//! (those without a user) are admitted by all of the plugins; a refusal is decided by a state that is
//! known to be current, and a write that was admitted by an older state is bound to the revisions
//! of the quotas that it is charged to.

mod matching;
pub mod metrics;
mod mutation;
mod plugin;
pub mod plugins;
pub mod policy;
mod quota_lock;
mod rules;
mod snapshot_view;
pub mod webhook;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_meta::{Names, Value};
use quorate_store::{Snapshot, Store};
use quorate_trace::start;
use tokio::time::timeout;

use metrics::{AdmissionMetrics, PluginResult, StepResult, UncountedAdmission};
use mutation::Pass;
use plugin::Plugin;
use plugins::quota::{self, ResourceQuota};
use plugins::{COUNTED, PLUGINS, Row};
use policy::{Judge, Mutator, PolicyIndex};
use quorate_registry::derived::Informed;
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Catalogue, CurrentCatalogue, Terms};
pub use quota_lock::QuotaLocks;
use snapshot_view::SnapshotView;
use tokio::time::Instant;
use webhook::{WebhookIndex, WebhookPhase, WebhookState};

/// How long a write waits for an object that the cluster makes by itself, such as the default
/// service account of a new namespace.
const APPEARANCE: Duration = Duration::from_millis(1500);

/// All plugins over one store.
pub struct Admission {
    names: &'static Names,
    catalogue: Arc<CurrentCatalogue>,
    store: Arc<dyn Store>,
    quota_locks: Arc<QuotaLocks>,
    policies: Option<Arc<PolicyIndex>>,
    webhooks: Option<Arc<WebhookIndex>>,
    metrics: Arc<dyn AdmissionMetrics>,
}

impl Admission {
    /// All plugins over a store.
    #[must_use]
    pub fn new(
        names: &'static Names,
        catalogue: Arc<CurrentCatalogue>,
        store: Arc<dyn Store>,
    ) -> Self {
        let quota_locks = Arc::default();
        let metrics = Arc::new(UncountedAdmission);
        Self { names, catalogue, store, quota_locks, policies: None, webhooks: None, metrics }
    }

    /// The same, counted.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<dyn AdmissionMetrics>) -> Self {
        Self { metrics, ..self }
    }

    /// This admission, which asks admission policies too.
    #[must_use]
    pub fn with_policies(self, policies: Option<Arc<PolicyIndex>>) -> Self {
        Self { policies, ..self }
    }

    /// The webhooks that this node does not call at present.
    ///
    /// # Errors
    /// 503 when an acknowledged write has not been applied within some seconds.
    pub async fn open_breakers(&self) -> Result<Vec<WebhookState>, Error> {
        match &self.webhooks {
            Some(webhooks) => webhooks.open_breakers().await,
            None => Ok(Vec::new()),
        }
    }

    /// The same as of what this node has applied, without waiting.
    #[must_use]
    pub fn applied_open_breakers(&self) -> Vec<WebhookState> {
        self.webhooks.as_ref().map(|webhooks| webhooks.applied_open_breakers()).unwrap_or_default()
    }

    /// This admission, which asks admission webhooks too.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Option<Arc<WebhookIndex>>) -> Self {
        Self { webhooks, ..self }
    }

    /// What it derives from stored objects, for the informer of the node.
    #[must_use]
    pub fn derived_states(&self) -> Vec<Arc<dyn Informed>> {
        let policies = self.policies.as_ref().map(|policies| policies.derived_state());
        let webhooks = self.webhooks.as_ref().map(|webhooks| webhooks.derived_state());
        policies.into_iter().chain(webhooks).collect()
    }

    fn webhook_phase(&self) -> Option<WebhookPhase<'_>> {
        let index = self.webhooks.as_deref()?;
        Some(WebhookPhase { index, catalogue: &self.catalogue, store: &self.store })
    }

    /// The locks of writes that are charged to quotas.
    #[must_use]
    pub fn quota_locks(&self) -> &Arc<QuotaLocks> {
        &self.quota_locks
    }

    /// Whether a user makes the write and one of the rules matches it.
    fn handles(&self, rules: &[rules::Rule], attributes: &Attributes<'_>) -> bool {
        attributes.user.is_some() && rules::handle(rules, self.names, attributes)
    }

    /// The plugins whose mutating or validating part handles a write.
    fn handled<'s>(
        &'s self,
        rules: fn(&Row) -> &'static [rules::Rule],
        attributes: &'s Attributes<'_>,
    ) -> impl Iterator<Item = &'static Row> + 's {
        PLUGINS.iter().filter(move |row| self.handles(rules(row), attributes))
    }

    /// The charge of a write to the quotas of its namespace.
    async fn charges(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        let Some(new) = attributes.new else {
            return Ok(Terms::default());
        };
        self.ask(|view| {
            let mut terms = Terms::default();
            ResourceQuota.validate(view, attributes, new, &mut terms)?;
            Ok(terms)
        })
        .await
    }

    /// The mutating parts of the plugins.
    async fn mutate_by_plugins(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        if self.handled(|row| row.mutates, attributes).next().is_none() {
            return Ok(());
        }
        let given = &*object;
        if let Some(key) = self.awaited(attributes, given) {
            self.appearance(key).await;
        }
        let mutated = self.ask(|view| {
            let mut object = given.clone();
            self.handled(|row| row.mutates, attributes).try_for_each(|row| {
                let ask = || row.plugin.mutate(view, attributes, &mut object);
                self.counted(row, true, attributes, ask)
            })?;
            Ok(object)
        });
        *object = mutated.await?;
        Ok(())
    }

    /// The key of an object that a mutating part misses and that the cluster makes by itself.
    fn awaited(&self, attributes: &Attributes<'_>, object: &Value) -> Option<Bytes> {
        let (catalogue, snapshot) = (self.catalogue.load(), self.store.snapshot());
        let view = SnapshotView::new(self.names, &catalogue, &snapshot);
        self.handled(|row| row.mutates, attributes)
            .find_map(|row| row.plugin.awaits(&view, attributes, object))
    }

    /// Waits until an object of this key is there, for [`APPEARANCE`] at most.
    async fn appearance(&self, key: Bytes) {
        let Ok(mut watch) = self.store.watch(key.clone(), self.store.snapshot().revision()) else {
            return;
        };
        let appears = async {
            while self.store.snapshot().get(&key).is_none() && watch.next().await.is_ok() {}
        };
        // Whether it is there by now is asked by the plugin.
        let _ = timeout(APPEARANCE, appears).await;
    }

    /// The terms of the validating parts of the plugins.
    async fn ask_plugins(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        let Some(new) = attributes.new else {
            return Ok(Terms::default());
        };
        if self.handled(|row| row.validates, attributes).next().is_none() {
            return Ok(Terms::default());
        }
        self.ask(|view| {
            let mut terms = Terms::default();
            self.handled(|row| row.validates, attributes).try_for_each(|row| {
                let ask = || row.plugin.validate(view, attributes, new, &mut terms);
                self.counted(row, false, attributes, ask)
            })?;
            Ok(terms)
        })
        .await
    }

    /// The verdict of a plugin, counted.
    fn counted(
        &self,
        row: &Row,
        mutates: bool,
        attributes: &Attributes<'_>,
        ask: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (begin, span) = (Instant::now(), start("admission_plugin"));
        let span = span.map(|span| span.with("quorate.admission.plugin", row.name));
        let verdict = row.traced(ask());
        drop(span);
        self.metrics.plugin_asked(&PluginResult {
            plugin: row.name,
            mutates,
            operation: attributes.operation,
            refuses: verdict.is_err(),
            took: begin.elapsed(),
        });
        verdict
    }

    /// The mutating step.
    async fn mutate_all(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        let mut pass = Pass::default();
        loop {
            self.mutate_by_plugins(attributes, object).await?;
            if let Some(index) = &self.policies {
                let (catalogue, store) = (&*self.catalogue, &self.store);
                let mutator = Mutator { index, catalogue, store };
                mutator.mutate(attributes, object, &mut pass.policies()).await?;
            }
            if let Some(webhooks) = self.webhook_phase() {
                webhooks.mutate(attributes, object, pass.webhooks()).await?;
            }
            if !pass.begin_second() {
                return Ok(());
            }
        }
    }

    /// The validating step.
    async fn validate_all(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        let terms = self.ask_plugins(attributes).await?;
        if let Some(index) = &self.policies {
            let (catalogue, store) = (&*self.catalogue, &self.store);
            Judge { index, catalogue, store }.judge(attributes).await?;
        }
        if let Some(webhooks) = self.webhook_phase() {
            webhooks.validate(attributes).await?;
        }
        Ok(terms)
    }

    fn step_ended(
        &self,
        mutates: bool,
        attributes: &Attributes<'_>,
        refuses: bool,
        begin: Instant,
    ) {
        let (operation, took) = (attributes.operation, begin.elapsed());
        self.metrics.step_ended(&StepResult { mutates, operation, refuses, took });
    }

    /// Asks in the state at hand, and again in a current one when that refuses.
    async fn ask<T>(
        &self,
        mut ask: impl FnMut(&SnapshotView<'_>) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let metrics = &*self.metrics;
        let mut ask = |catalogue: &Catalogue, snapshot: &Snapshot| {
            ask(&SnapshotView::new(self.names, catalogue, snapshot).counted_by(metrics))
        };
        let answer = ask(&self.catalogue.load(), &self.store.snapshot());
        if answer.is_ok() {
            return answer;
        }
        self.store.read_index().await?;
        ask(&self.catalogue.load(), &self.store.snapshot())
    }
}

#[async_trait]
impl quorate_registry::Admission for Admission {
    async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Error> {
        let begin = Instant::now();
        let mutated = self.mutate_all(attributes, object).await;
        self.step_ended(true, attributes, mutated.is_err(), begin);
        mutated
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        let begin = Instant::now();
        let terms = self.validate_all(attributes).await;
        self.step_ended(false, attributes, terms.is_err(), begin);
        terms
    }

    fn is_counted(&self, attributes: &Attributes<'_>) -> bool {
        self.handles(COUNTED, attributes)
            && quota::has_quotas(
                &SnapshotView::new(self.names, &self.catalogue.load(), &self.store.snapshot()),
                attributes,
            )
    }

    async fn charge(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        let terms = self.charges(attributes).await?;
        // A write without a charge needs no lock, and a write that is refused does not wait for
        // one.
        let Some(namespace) = attributes.target.namespace.filter(|_| !terms.operations.is_empty())
        else {
            return Ok(terms);
        };
        let quota_lock = self.quota_locks.wait(namespace).await;
        let terms = if terms.hold_in(&self.store.snapshot()) {
            terms
        } else {
            self.charges(attributes).await?
        };
        Ok(Terms { quota_lock, ..terms })
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
