//! The policies and bindings of one kind, as one node knows them.
//!
//! Invariants: a policy without a binding is not asked; policies, and the bindings of each, are
//! asked in the order of their names; a policy is compiled once, when a write first matches it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use quorate_meta::{Time, Value};
use quorate_policy::mutation::MutatingPolicy;
use quorate_policy::{Environments, FailurePolicy, Policy};
use quorate_registry::Resource;
use tokio::time::Instant;

use super::index::PolicyIndex;
use super::params::{ParamKind, ParamRef};
use crate::matching::by_plural::ByPlural;
use crate::matching::match_resources::{MatchResources, MatchedAs};
use crate::matching::subject::Subject;

/// The expressions of a policy.
pub(super) trait Compiled: fmt::Debug + Send + Sync + Sized + 'static {
    /// Compiles those of a stored `spec`.
    fn compile(environments: &Environments, spec: &Value) -> Self;
}

impl Compiled for Policy {
    fn compile(environments: &Environments, spec: &Value) -> Self {
        Self::compile(environments, spec, Some(spec)).0
    }
}

impl Compiled for MutatingPolicy {
    fn compile(environments: &Environments, spec: &Value) -> Self {
        Self::compile(environments, spec, Some(spec)).0
    }
}

/// A policy.
pub(super) struct StoredPolicy<C> {
    pub(super) name: String,
    constraints: MatchResources,
    pub(super) failure_policy: FailurePolicy,
    /// `None` when the policy takes no parameters.
    param_kind: Option<ParamKind>,
    spec: Value,
    compiled: OnceLock<C>,
}

/// A binding.
#[derive(Debug)]
pub(super) struct StoredBinding {
    pub(super) name: String,
    policy: String,
    resources: MatchResources,
    /// `None` when the binding names no parameters.
    param_ref: Option<ParamRef>,
    pub(super) actions: Actions,
}

/// What a binding does about a failed validation; nothing in a binding of a mutating policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Actions {
    pub(super) deny: bool,
    pub(super) warn: bool,
    pub(super) audit: bool,
}

/// A policy with its bindings, of which it has some.
#[derive(Debug)]
pub(super) struct BoundPolicy<C> {
    pub(super) policy: Arc<StoredPolicy<C>>,
    bindings: Vec<Arc<StoredBinding>>,
    suspended_until: Option<Time>,
}

/// How a write matches a policy.
pub(super) struct Matched<'b> {
    pub(super) matched_as: MatchedAs,
    /// The bindings that the write matches, each with its parameters: null stands for none.
    /// Otherwise the text says why it cannot be asked.
    pub(super) bindings: Vec<(&'b StoredBinding, Result<Vec<Value>, String>)>,
}

/// Every policy of one kind.
#[derive(Debug)]
pub(super) struct PolicySet<C> {
    policies: BTreeMap<String, Arc<StoredPolicy<C>>>,
    /// Until when policies are suspended, by name.
    suspended: BTreeMap<String, Time>,
    bindings: BTreeMap<String, Arc<StoredBinding>>,
    in_force: Arc<BoundPolicies<C>>,
}

#[derive(Debug)]
struct BoundPolicies<C> {
    /// By name.
    policies: Vec<BoundPolicy<C>>,
    by_plural: ByPlural,
}

impl<C: Compiled> PolicySet<C> {
    /// The policies that may match a write of resources of this name at this moment, by name.
    pub(super) fn of(&self, plural: &str, now: Time) -> impl Iterator<Item = &BoundPolicy<C>> {
        let BoundPolicies { policies, by_plural } = &*self.in_force;
        let found = by_plural.places(plural).into_iter().map(|place| &policies[place]);
        found.filter(move |bound| bound.suspended_until.is_none_or(|until| until <= now))
    }

    /// Whether a write of resources of this name may match a policy.
    pub(super) fn may_match(&self, plural: &str) -> bool {
        self.in_force.by_plural.may_match(plural)
    }

    /// Takes the `spec` of a policy in; `None` when there is none any more.
    pub(super) fn set_policy(&mut self, name: &str, spec: Option<&Value>) {
        let Some(spec) = spec else {
            self.policies.remove(name);
            return;
        };
        // What has not changed stays compiled.
        if self.policies.get(name).is_none_or(|known| known.spec != *spec) {
            self.policies.insert(name.to_owned(), Arc::new(StoredPolicy::read(name, spec)));
        }
    }

    /// Takes in until when a policy is suspended.
    pub(super) fn suspend(&mut self, name: &str, until: Option<Time>) {
        match until {
            Some(until) => drop(self.suspended.insert(name.to_owned(), until)),
            None => drop(self.suspended.remove(name)),
        }
    }

    /// Takes the `spec` of a binding in; `None` when there is none any more.
    pub(super) fn set_binding(&mut self, name: &str, spec: Option<&Value>) {
        match spec {
            Some(spec) => drop(
                self.bindings.insert(name.to_owned(), Arc::new(StoredBinding::read(name, spec))),
            ),
            None => drop(self.bindings.remove(name)),
        }
    }

    /// Puts policies and bindings together.
    pub(super) fn finish(&mut self) {
        let mut bound: BTreeMap<&str, Vec<Arc<StoredBinding>>> = BTreeMap::new();
        for binding in self.bindings.values() {
            bound.entry(&binding.policy).or_default().push(binding.clone());
        }
        let mut in_force = BoundPolicies::default();
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

impl<C> Clone for PolicySet<C> {
    fn clone(&self) -> Self {
        let Self { policies, suspended, bindings, in_force } = self;
        let (policies, suspended) = (policies.clone(), suspended.clone());
        Self { policies, suspended, bindings: bindings.clone(), in_force: in_force.clone() }
    }
}

impl<C> Default for PolicySet<C> {
    fn default() -> Self {
        let (policies, suspended, bindings) = Default::default();
        Self { policies, suspended, bindings, in_force: Arc::default() }
    }
}

impl<C> Default for BoundPolicies<C> {
    fn default() -> Self {
        Self { policies: Vec::new(), by_plural: ByPlural::default() }
    }
}

impl<C> BoundPolicy<C> {
    /// How a write matches; `None` when it does not.
    ///
    /// # Errors
    /// A text when the policy cannot be asked about anything.
    pub(super) fn matched(&self, subject: &Subject<'_>) -> Result<Option<Matched<'_>>, String> {
        let policy = &*self.policy;
        let Some(matched_as) =
            policy.constraints.matched(subject).map_err(|why| why.0.to_owned())?
        else {
            return Ok(None);
        };
        let kind = policy.param_kind.as_ref().map(|kind| kind.resource(subject)).transpose()?;
        let bindings = self.bindings.iter().filter_map(|binding| {
            let params = match binding.resources.matched(subject) {
                Ok(None) => return None,
                Ok(Some(_)) => binding.params(kind, subject),
                Err(why) => Err(why.0.to_owned()),
            };
            Some((&**binding, params))
        });
        Ok(Some(Matched { matched_as, bindings: bindings.collect() }))
    }
}

impl<C: Compiled> StoredPolicy<C> {
    fn read(name: &str, spec: &Value) -> Self {
        Self {
            name: name.to_owned(),
            constraints: MatchResources::read(spec.get("matchConstraints")),
            failure_policy: FailurePolicy::read(spec),
            param_kind: ParamKind::read(spec),
            spec: spec.clone(),
            compiled: OnceLock::new(),
        }
    }

    /// The expressions.
    pub(super) fn compiled(&self, index: &PolicyIndex) -> &C {
        self.compiled.get_or_init(|| {
            let begin = Instant::now();
            let compiled = C::compile(&index.environments, &self.spec);
            index.metrics.policy_compiled(begin.elapsed());
            compiled
        })
    }
}

impl<C> fmt::Debug for StoredPolicy<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

impl StoredBinding {
    fn read(name: &str, spec: &Value) -> Self {
        let actions = spec.get("validationActions").and_then(Value::as_list).unwrap_or_default();
        let has = |action: &str| actions.iter().any(|given| given.as_str() == Some(action));
        Self {
            name: name.to_owned(),
            policy: spec.str_at(&["policyName"]).unwrap_or_default().to_owned(),
            resources: MatchResources::read(spec.get("matchResources")),
            param_ref: spec.get("paramRef").filter(|fields| !fields.is_null()).map(ParamRef::read),
            actions: Actions { deny: has("Deny"), warn: has("Warn"), audit: has("Audit") },
        }
    }

    /// The parameters, at least one unless none is needed; null stands for none.
    fn params(&self, kind: Option<&Resource>, subject: &Subject<'_>) -> Result<Vec<Value>, String> {
        match (kind, &self.param_ref) {
            (Some(kind), Some(reference)) => reference.objects(kind, subject),
            _ => Ok(vec![Value::Null]),
        }
    }
}
