//! The policies and bindings of the cluster, as one node knows them.
//!
//! Invariants: a policy without a binding is not asked; policies, and the bindings of each, are
//! asked in the order of their names; a policy is compiled once, when a write first matches it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use quorate_env::Clock;
use quorate_meta::{Names, Time, Value};
use quorate_policy::{Environments, FailurePolicy, Policy};
use quorate_registry::derived::{
    Derived, DerivedState, DerivedStateOptions, Informed, ObjectChange,
};
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, suspension};
use quorate_store::Store;

use super::params::{ParamKind, ParamRef};
use crate::matching::by_plural::ByPlural;
use crate::matching::match_resources::MatchResources;

/// The neutral name of their group.
const REGISTRATION: &str = "admissionregistration";
/// The plural name of the policies.
pub(super) const POLICIES: &str = "validatingadmissionpolicies";
/// The plural name of their bindings.
pub(super) const BINDINGS: &str = "validatingadmissionpolicybindings";

/// A policy.
pub(super) struct StoredPolicy {
    pub(super) name: String,
    pub(super) constraints: MatchResources,
    pub(super) failure_policy: FailurePolicy,
    /// `None` when the policy takes no parameters.
    pub(super) param_kind: Option<ParamKind>,
    spec: Value,
    compiled: OnceLock<Policy>,
}

/// A binding.
#[derive(Debug)]
pub(super) struct StoredBinding {
    pub(super) name: String,
    policy: String,
    pub(super) resources: MatchResources,
    /// `None` when the binding names no parameters.
    pub(super) param_ref: Option<ParamRef>,
    pub(super) actions: Actions,
}

/// What a binding does about a failed validation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Actions {
    pub(super) deny: bool,
    pub(super) warn: bool,
    pub(super) audit: bool,
}

/// A policy with its bindings, of which it has some.
#[derive(Debug)]
pub(super) struct BoundPolicy {
    pub(super) policy: Arc<StoredPolicy>,
    pub(super) bindings: Vec<Arc<StoredBinding>>,
    suspended_until: Option<Time>,
}

/// Every policy that is in force.
#[derive(Debug, Clone, Default)]
pub(super) struct Policies {
    policies: BTreeMap<String, Arc<StoredPolicy>>,
    /// Until when policies are suspended, by name.
    suspended: BTreeMap<String, Time>,
    bindings: BTreeMap<String, Arc<StoredBinding>>,
    in_force: Arc<InForce>,
}

#[derive(Debug, Default)]
struct InForce {
    /// By name.
    policies: Vec<BoundPolicy>,
    by_plural: ByPlural,
}

impl Policies {
    /// The policies that may match a write of resources of this name at this moment, by name.
    pub(super) fn of(&self, plural: &str, now: Time) -> impl Iterator<Item = &BoundPolicy> {
        let InForce { policies, by_plural } = &*self.in_force;
        let found = by_plural.places(plural).into_iter().map(|place| &policies[place]);
        found.filter(move |bound| bound.suspended_until.is_none_or(|until| until <= now))
    }

    /// Whether a write of resources of this name may match a policy.
    pub(super) fn may_match(&self, plural: &str) -> bool {
        self.in_force.by_plural.may_match(plural)
    }
}

impl Derived for Policies {
    fn update(&mut self, change: ObjectChange<'_>) {
        let name = change.name.to_owned();
        if change.plural == POLICIES {
            match change.new.and_then(|policy| suspension::until(change.names, policy)) {
                Some(until) => drop(self.suspended.insert(name.clone(), until)),
                None => drop(self.suspended.remove(&name)),
            }
        }
        let spec = change.new.map(|object| object.get("spec").unwrap_or(&Value::Null));
        match (change.plural, spec) {
            (POLICIES, Some(spec)) => {
                // What has not changed stays compiled.
                if self.policies.get(&name).is_none_or(|known| known.spec != *spec) {
                    self.policies.insert(name.clone(), Arc::new(StoredPolicy::read(name, spec)));
                }
            }
            (POLICIES, None) => drop(self.policies.remove(&name)),
            (_, Some(spec)) => {
                self.bindings.insert(name.clone(), Arc::new(StoredBinding::read(name, spec)));
            }
            (_, None) => drop(self.bindings.remove(&name)),
        }
    }

    fn finish(&mut self) {
        let mut bound: BTreeMap<&str, Vec<Arc<StoredBinding>>> = BTreeMap::new();
        for binding in self.bindings.values() {
            bound.entry(&binding.policy).or_default().push(binding.clone());
        }
        let mut in_force = InForce::default();
        for (name, bindings) in bound {
            let Some(policy) = self.policies.get(name) else { continue };
            in_force.by_plural.add(in_force.policies.len(), policy.constraints.plurals());
            let suspended_until = self.suspended.get(name).copied();
            let policy = policy.clone();
            in_force.policies.push(BoundPolicy { policy, bindings, suspended_until });
        }
        self.in_force = Arc::new(in_force);
    }
}

impl StoredPolicy {
    fn read(name: String, spec: &Value) -> Self {
        let ignores = spec.str_at(&["failurePolicy"]) == Some("Ignore");
        Self {
            name,
            constraints: MatchResources::read(spec.get("matchConstraints")),
            failure_policy: if ignores { FailurePolicy::Ignore } else { FailurePolicy::Fail },
            param_kind: ParamKind::read(spec),
            spec: spec.clone(),
            compiled: OnceLock::new(),
        }
    }

    /// The expressions.
    pub(super) fn compiled(&self, environments: &Environments) -> &Policy {
        let compile = || Policy::compile(environments, &self.spec, Some(&self.spec)).0;
        self.compiled.get_or_init(compile)
    }
}

impl fmt::Debug for StoredPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

impl StoredBinding {
    fn read(name: String, spec: &Value) -> Self {
        let actions = spec.get("validationActions").and_then(Value::as_list).unwrap_or_default();
        let has = |action: &str| actions.iter().any(|given| given.as_str() == Some(action));
        Self {
            name,
            policy: spec.str_at(&["policyName"]).unwrap_or_default().to_owned(),
            resources: MatchResources::read(spec.get("matchResources")),
            param_ref: spec.get("paramRef").filter(|fields| !fields.is_null()).map(ParamRef::read),
            actions: Actions { deny: has("Deny"), warn: has("Warn"), audit: has("Audit") },
        }
    }
}

/// Keeps the policies of one node in step with the store.
#[derive(Debug)]
pub struct PolicyIndex {
    names: &'static Names,
    policies: Arc<DerivedState<Policies>>,
    clock: Arc<dyn Clock>,
    pub(super) environments: Environments,
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
        let resources = vec![find(POLICIES)?, find(BINDINGS)?];
        let policies = Arc::new(DerivedState::new(DerivedStateOptions {
            store,
            prefixes: resources.iter().map(|resource| resource.prefix(None)).collect(),
            resources,
            what: "admission policies",
        }));
        Some(Self { names, policies, clock, environments: Environments::new(names) })
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
