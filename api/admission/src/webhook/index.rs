//! The webhooks of the cluster, as one node knows them.
//!
//! Invariants: webhooks are asked in the order of the names of their configurations, and within one
//! in its order; one that has not changed stays the same value, with its compiled conditions and its
//! breaker.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quorate_meta::{Path, Time, Value};
use quorate_policy::{Environments, FailurePolicy, MatchConditions};
use quorate_registry::derived::{Derived, ObjectChange};
use quorate_registry::suspension;
use quorate_webhook::{CallError, ClientConfig};

use super::breaker::Breaker;
use super::review::ReviewVersion;
use crate::matching::by_plural::ByPlural;
use crate::matching::match_resources::MatchResources;

/// The plural name of configurations of mutating webhooks.
pub(super) const MUTATING: &str = "mutatingwebhookconfigurations";
/// The plural name of configurations of validating webhooks.
pub(super) const VALIDATING: &str = "validatingwebhookconfigurations";
/// How long a webhook may take that does not say so.
const DEFAULT_TIMEOUT_SECONDS: u64 = 10;

/// A webhook.
pub(super) struct StoredWebhook {
    pub(super) configuration: String,
    pub(super) name: String,
    pub(super) constraints: MatchResources,
    pub(super) failure_policy: FailurePolicy,
    pub(super) timeout: Duration,
    /// Whether a call in a dry run may have an effect.
    pub(super) has_side_effects: bool,
    /// Whether it is asked again where something has changed the object since.
    pub(super) is_reinvoked: bool,
    /// The first version of reviews of its list that is known here.
    pub(super) version: Option<ReviewVersion>,
    pub(super) client: Result<ClientConfig, CallError>,
    pub(super) breaker: Breaker,
    fields: Value,
    conditions: OnceLock<MatchConditions>,
}

/// Every webhook.
#[derive(Debug, Clone, Default)]
pub(super) struct Webhooks {
    pub(super) mutating: WebhooksOfType,
    pub(super) validating: WebhooksOfType,
}

/// The webhooks that change objects, or those that decide.
#[derive(Debug, Clone, Default)]
pub(super) struct WebhooksOfType {
    by_configuration: BTreeMap<String, Configuration>,
    in_force: Arc<WebhooksInForce>,
}

#[derive(Debug, Clone, Default)]
struct Configuration {
    webhooks: Vec<Arc<StoredWebhook>>,
    suspended_until: Option<Time>,
}

#[derive(Debug, Default)]
struct WebhooksInForce {
    /// In the order in which they are asked, each with the end of its suspension.
    webhooks: Vec<(Arc<StoredWebhook>, Option<Time>)>,
    by_plural: ByPlural,
}

impl WebhooksOfType {
    /// The webhooks that may match a write of resources of this name at this moment, each with its
    /// place among all.
    pub(super) fn of(&self, plural: &str, now: Time) -> Vec<(usize, Arc<StoredWebhook>)> {
        let WebhooksInForce { webhooks, by_plural } = &*self.in_force;
        let found = by_plural.places(plural).into_iter().filter_map(|place| {
            let (webhook, suspended_until) = &webhooks[place];
            let is_asked = suspended_until.is_none_or(|until| until <= now);
            is_asked.then(|| (place, webhook.clone()))
        });
        found.collect()
    }

    /// Every webhook, in the order in which they are asked.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<StoredWebhook>> {
        self.in_force.webhooks.iter().map(|(webhook, _)| webhook)
    }

    /// Whether a write of resources of this name may match one.
    pub(super) fn may_match(&self, plural: &str) -> bool {
        self.in_force.by_plural.may_match(plural)
    }

    /// Whether a webhook is still among them, and as it was.
    pub(super) fn has(&self, webhook: &Arc<StoredWebhook>) -> bool {
        self.in_force.webhooks.iter().any(|(known, _)| Arc::ptr_eq(known, webhook))
    }

    fn update(&mut self, change: ObjectChange<'_>) {
        let name = change.name;
        let known = self.by_configuration.remove(name).unwrap_or_default();
        let Some(configuration) = change.new else { return };
        let list = configuration.get("webhooks").and_then(Value::as_list).unwrap_or_default();
        let webhooks = list.iter().map(|fields| {
            let same = known.webhooks.iter().find(|webhook| webhook.fields == *fields);
            same.cloned().unwrap_or_else(|| Arc::new(StoredWebhook::read(name, fields)))
        });
        let webhooks = webhooks.collect();
        let suspended_until = suspension::until(change.names, configuration);
        let configuration = Configuration { webhooks, suspended_until };
        self.by_configuration.insert(name.to_owned(), configuration);
    }

    fn finish(&mut self) {
        let mut in_force = WebhooksInForce::default();
        for Configuration { webhooks, suspended_until } in self.by_configuration.values() {
            for webhook in webhooks {
                // A webhook without rules matches nothing.
                if webhook.has_rules() {
                    let place = in_force.webhooks.len();
                    in_force.by_plural.add(place, webhook.constraints.plurals());
                }
                in_force.webhooks.push((webhook.clone(), *suspended_until));
            }
        }
        self.in_force = Arc::new(in_force);
    }
}

impl Derived for Webhooks {
    fn update(&mut self, change: ObjectChange<'_>) {
        let webhooks =
            if change.plural == MUTATING { &mut self.mutating } else { &mut self.validating };
        webhooks.update(change);
    }

    fn finish(&mut self) {
        self.mutating.finish();
        self.validating.finish();
    }
}

impl StoredWebhook {
    pub(super) fn read(configuration: &str, fields: &Value) -> Self {
        let text = |field: &str| fields.str_at(&[field]).unwrap_or_default();
        let versions = fields.get("admissionReviewVersions").and_then(Value::as_list);
        let mut versions = versions.unwrap_or_default().iter().filter_map(Value::as_str);
        let seconds = fields.get("timeoutSeconds").and_then(Value::as_u64);
        let client = fields.get("clientConfig").unwrap_or(&Value::Null);
        Self {
            configuration: configuration.to_owned(),
            name: text("name").to_owned(),
            constraints: MatchResources::of_webhook(fields),
            failure_policy: match text("failurePolicy") {
                "Ignore" => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            timeout: Duration::from_secs(seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS)),
            has_side_effects: !matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            is_reinvoked: text("reinvocationPolicy") == "IfNeeded",
            version: versions.find_map(ReviewVersion::named),
            client: ClientConfig::read(client),
            breaker: Breaker::default(),
            fields: fields.clone(),
            conditions: OnceLock::new(),
        }
    }

    /// What tells it from every other webhook of its type.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.configuration, self.name)
    }

    /// The match conditions.
    pub(super) fn conditions(&self, environments: &Environments) -> &MatchConditions {
        self.conditions.get_or_init(|| {
            let list = self.condition_list();
            let stored: HashSet<&str> =
                list.iter().filter_map(|one| one.str_at(&["expression"])).map(str::trim).collect();
            let path = Path::new("matchConditions");
            MatchConditions::compile(environments, list, &path, false, &stored).0
        })
    }

    /// Whether there are match conditions.
    pub(super) fn has_conditions(&self) -> bool {
        !self.condition_list().is_empty()
    }

    fn condition_list(&self) -> &[Value] {
        self.fields.get("matchConditions").and_then(Value::as_list).unwrap_or_default()
    }

    fn has_rules(&self) -> bool {
        self.fields.get("rules").and_then(Value::as_list).is_some_and(|rules| !rules.is_empty())
    }
}

impl fmt::Debug for StoredWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { configuration, name, .. } = self;
        f.debug_struct("StoredWebhook")
            .field("configuration", configuration)
            .field("name", name)
            .finish_non_exhaustive()
    }
}
