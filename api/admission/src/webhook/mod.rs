//! Admission webhooks: which of them a write is asked about, and what becomes of their answers.
//!
//! The way of a write: the `index` names the webhooks that may match; `matched` decides, and makes
//! the `review`; `call` sends it and reads the `response`; `mutating` and `validating` follow it;
//! `refusal` words what clients read, `notes` what else is told.
//!
//! Invariants: webhooks are never asked about configurations of webhooks and about policies, so that
//! they can always be mended; a refusal is told only of a webhook that is known to be in force; a
//! cluster without webhooks pays a comparison of two numbers for a write.
//!
//! Not here: connections (`quorate-webhook`).

mod breaker;
mod call;
mod index;
mod matched;
mod metrics;
mod mutating;
mod notes;
mod refusal;
mod response;
mod review;
mod state;
#[cfg(test)]
mod tests;
mod validating;

use std::fmt;
use std::sync::Arc;

use quorate_env::{Clock, Entropy};
use quorate_meta::{Names, Time};
use quorate_policy::Environments;
use quorate_registry::derived::{DerivedState, DerivedStateOptions, Informed};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Catalogue, CurrentCatalogue};
use quorate_store::Store;
use quorate_webhook::Clients;

use index::{StoredWebhook, Webhooks};
pub use metrics::{
    CallResult, ConditionsOutcome, ConditionsResult, NoMetrics, Outcome, WebhookMetrics,
    WebhookType,
};
pub use state::WebhookState;

/// The neutral name of the group of configurations.
const REGISTRATION: &str = "admissionregistration";
/// The plural names of its resources that no webhook is asked about.
const EXEMPT: [&str; 6] = [
    index::VALIDATING,
    index::MUTATING,
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
];

/// What webhooks are called with.
pub struct WebhookIndexOptions {
    /// Where configurations are stored.
    pub store: Arc<dyn Store>,
    /// The clients.
    pub clients: Arc<Clients>,
    /// The clock that suspensions are judged by.
    pub clock: Arc<dyn Clock>,
    /// For the uids of reviews.
    pub entropy: Arc<dyn Entropy>,
    /// What is told of every call.
    pub metrics: Arc<dyn WebhookMetrics>,
}

/// Keeps the webhooks of one node in step with the store, and calls them.
pub struct WebhookIndex {
    names: &'static Names,
    webhooks: Arc<DerivedState<Webhooks>>,
    environments: Environments,
    clients: Arc<Clients>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    metrics: Arc<dyn WebhookMetrics>,
}

impl WebhookIndex {
    /// An index for this catalogue. `None` when the catalogue has no webhooks.
    #[must_use]
    pub fn new(catalogue: &Catalogue, options: WebhookIndexOptions) -> Option<Self> {
        let WebhookIndexOptions { store, clients, clock, entropy, metrics } = options;
        let names = catalogue.graph().names();
        let group = names.group(REGISTRATION);
        let find = |plural| catalogue.find_builtin(&group, "v1", plural).cloned();
        let resources = vec![find(index::MUTATING)?, find(index::VALIDATING)?];
        let webhooks = Arc::new(DerivedState::new(DerivedStateOptions {
            store,
            prefixes: resources.iter().map(|resource| resource.prefix(None)).collect(),
            resources,
            what: "admission webhooks",
        }));
        let environments = Environments::new(names);
        Some(Self { names, webhooks, environments, clients, clock, entropy, metrics })
    }

    /// The state that it derives, for the informer of the node.
    #[must_use]
    pub fn derived_state(&self) -> Arc<dyn Informed> {
        self.webhooks.clone()
    }

    /// The webhooks as of everything that this node has applied or acknowledged.
    ///
    /// # Errors
    /// 503 when an acknowledged write has not been applied within some seconds.
    async fn current(&self) -> Result<Arc<Webhooks>, Error> {
        if self.webhooks.is_behind() {
            return self.webhooks.current().await;
        }
        Ok(self.webhooks.applied())
    }

    /// The webhooks that are not called at present, because calls of them have failed too often.
    ///
    /// # Errors
    /// 503 when an acknowledged write has not been applied within some seconds.
    pub async fn open_breakers(&self) -> Result<Vec<WebhookState>, Error> {
        Ok(open_breakers(&*self.current().await?))
    }

    /// The same, as of what this node has applied, for metrics.
    #[must_use]
    pub fn applied_open_breakers(&self) -> Vec<WebhookState> {
        open_breakers(&self.webhooks.applied())
    }

    /// The time that suspensions are judged by.
    fn now(&self) -> Time {
        Time::from_ms(self.clock.now_ms())
    }

    /// The uid of a review: a random UUID (version 4, RFC 9562).
    fn new_uid(&self) -> String {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

impl fmt::Debug for WebhookIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookIndex").finish_non_exhaustive()
    }
}

/// Those of the webhooks that are not called at present.
fn open_breakers(webhooks: &Webhooks) -> Vec<WebhookState> {
    let types = [
        (&webhooks.mutating, WebhookType::Mutating),
        (&webhooks.validating, WebhookType::Validating),
    ];
    let all = types.into_iter().flat_map(|(webhooks, webhook_type)| {
        webhooks.all().filter_map(move |webhook| WebhookState::of(webhook, webhook_type))
    });
    all.collect()
}

/// The webhooks over one store.
pub(crate) struct WebhookPhase<'p> {
    pub(crate) index: &'p WebhookIndex,
    pub(crate) catalogue: &'p CurrentCatalogue,
    pub(crate) store: &'p Arc<dyn Store>,
}

impl WebhookPhase<'_> {
    /// The webhooks that a write may be asked about; `None` for a write that none is.
    async fn in_force(&self, attributes: &Attributes<'_>) -> Result<Option<Arc<Webhooks>>, Error> {
        let resource = attributes.target.resource;
        if EXEMPT.contains(&resource.plural.as_str())
            && self.index.names.neutral(&resource.group) == REGISTRATION
        {
            return Ok(None);
        }
        self.index.current().await.map(Some)
    }

    /// Whether a webhook that refuses is in force in a state that is known to be current: it may
    /// have been removed or changed elsewhere.
    async fn is_in_force(
        &self,
        webhook: &Arc<StoredWebhook>,
        webhook_type: WebhookType,
    ) -> Result<bool, Error> {
        self.store.read_index().await?;
        let webhooks = self.index.current().await?;
        Ok(match webhook_type {
            WebhookType::Mutating => webhooks.mutating.has(webhook),
            WebhookType::Validating => webhooks.validating.has(webhook),
        })
    }
}
