//! The policies and bindings of the cluster, as one node knows them.
//!
//! Invariant: mutating policies are known only where they are served.

use std::sync::Arc;

use quorate_env::Clock;
use quorate_meta::{Names, Time, Value};
use quorate_policy::mutation::MutatingPolicy;
use quorate_policy::{Environments, Policy};
use quorate_registry::derived::{
    Derived, DerivedState, DerivedStateOptions, Informed, ObjectChange,
};
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, suspension};
use quorate_store::Store;

use super::policy_set::PolicySet;
use crate::metrics::{AdmissionMetrics, UncountedAdmission};

/// The neutral name of their group.
const REGISTRATION: &str = "admissionregistration";
/// The plural name of the validating policies.
pub(super) const POLICIES: &str = "validatingadmissionpolicies";
/// The plural name of their bindings.
pub(super) const BINDINGS: &str = "validatingadmissionpolicybindings";
/// The plural name of the mutating policies.
pub(super) const MUTATING_POLICIES: &str = "mutatingadmissionpolicies";
/// The plural name of their bindings.
pub(super) const MUTATING_BINDINGS: &str = "mutatingadmissionpolicybindings";

/// Every policy that is in force.
#[derive(Debug, Clone, Default)]
pub(super) struct Policies {
    pub(super) validating: PolicySet<Policy>,
    pub(super) mutating: PolicySet<MutatingPolicy>,
}

impl Derived for Policies {
    fn update(&mut self, change: ObjectChange<'_>) {
        let (Self { validating, mutating }, name) = (self, change.name);
        let until = change.new.and_then(|object| suspension::until(change.names, object));
        let spec = change.new.map(|object| object.get("spec").unwrap_or(&Value::Null));
        match change.plural {
            POLICIES => {
                validating.suspend(name, until);
                validating.set_policy(name, spec);
            }
            BINDINGS => validating.set_binding(name, spec),
            MUTATING_POLICIES => {
                mutating.suspend(name, until);
                mutating.set_policy(name, spec);
            }
            _ => mutating.set_binding(name, spec),
        }
    }

    fn finish(&mut self) {
        self.validating.finish();
        self.mutating.finish();
    }
}

/// Keeps the policies of one node in step with the store.
#[derive(Debug)]
pub struct PolicyIndex {
    names: &'static Names,
    policies: Arc<DerivedState<Policies>>,
    clock: Arc<dyn Clock>,
    pub(super) environments: Environments,
    pub(super) metrics: Arc<dyn AdmissionMetrics>,
}

impl PolicyIndex {
    /// An index for this catalogue. `None` when the catalogue has no policies.
    #[must_use]
    pub fn new(
        catalogue: &Catalogue,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Option<Self> {
        let names = catalogue.graph().names();
        let group = names.group(REGISTRATION);
        let find = |plural| catalogue.find_builtin(&group, "v1", plural).cloned();
        let validating = [find(POLICIES)?, find(BINDINGS)?];
        let mutating = [MUTATING_POLICIES, MUTATING_BINDINGS]
            .map(|plural| catalogue.find(&group, "v1beta1", plural).cloned());
        let resources: Vec<_> =
            validating.into_iter().chain(mutating.into_iter().flatten()).collect();
        let policies = Arc::new(DerivedState::new(DerivedStateOptions {
            store,
            prefixes: resources.iter().map(|resource| resource.prefix(None)).collect(),
            resources,
            what: "admission policies",
        }));
        let (environments, metrics) = (Environments::new(names), Arc::new(UncountedAdmission));
        Some(Self { names, policies, clock, environments, metrics })
    }

    /// The same, counted.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<dyn AdmissionMetrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The time that suspensions are judged by.
    pub(super) fn now(&self) -> Time {
        Time::from_ms(self.clock.now_ms())
    }

    /// The names of the cluster's profile.
    pub(super) const fn names(&self) -> &'static Names {
        self.names
    }

    /// The state that it derives, for the informer of the node.
    #[must_use]
    pub fn derived_state(&self) -> Arc<dyn Informed> {
        self.policies.clone()
    }

    /// The policies as of everything that this node has applied or acknowledged.
    ///
    /// # Errors
    /// 503 when an acknowledged write has not been applied within some seconds.
    pub(super) async fn current(&self) -> Result<Arc<Policies>, Error> {
        if self.policies.is_behind() {
            return self.policies.current().await;
        }
        Ok(self.policies.applied())
    }
}
