//! The steps of an eviction: the pod is read, its budget asked, the pod marked and deleted.
//!
//! Invariants: every attempt begins with a state that is current then, and there are at most
//! [`MAX_ATTEMPTS`]. The client's own preconditions on the pod are checked before a disruption is
//! taken from the budget, so that none is lost for them. The disruption of a pod that turns out to
//! be another one by the time it is deleted is not given back: the budget's controller counts anew,
//! and the client comes back.

use std::sync::Arc;

use quorate_meta::{Reason, Status, Time, Value};
use quorate_store::{Revision, Snapshot};

use super::{budget, pod};
use crate::Api;
use quorate_registry::error::Error;
use quorate_registry::write::{
    DeleteOptions, GivenOptions, Preconditions, Target, UpdateOptions, WriteOptions, Writer,
};
use quorate_registry::{Catalogue, Part, Resource, stored_codec};

/// How often an eviction begins again because its pod has changed meanwhile; then it is refused
/// with a 409.
const MAX_ATTEMPTS: usize = 20;

/// One eviction.
pub(super) struct Eviction<'a> {
    pub(super) api: &'a Api,
    pub(super) catalogue: &'a Catalogue,
    pub(super) writer: Writer,
    /// The pod.
    pub(super) pod: Target<'a>,
    /// Options of its deletion.
    pub(super) options: DeleteOptions,
    /// The field manager of the fields that are written.
    pub(super) manager: &'a str,
}

/// The outcome of one attempt to get the budget's leave.
struct Allowance {
    /// Which pod may be deleted, and in which version.
    bound: Preconditions,
    /// The budget that allows it.
    budget: Option<String>,
}

impl Eviction<'_> {
    /// Evicts the pod.
    ///
    /// # Errors
    /// 404 without the pod, 409 when it is not the one that is meant, 429 when its budget does not
    /// allow it now, 500 when it has several budgets.
    pub(super) async fn run(&self) -> Result<(), Error> {
        for _ in 0..MAX_ATTEMPTS {
            let Allowance { bound, budget } = self.allowance().await?;
            match self.remove(&bound).await {
                Err(error) if self.is_overtaken(&error) => {
                    if let Some(name) = budget {
                        return Err(budget::unsettled(&name));
                    }
                }
                done => return done,
            }
        }
        Err(Status::stale(&self.pod.resource.group_resource(), self.pod.name).into())
    }

    /// Whether the pod has changed meanwhile and the client has not asked for a version of it: then
    /// the eviction may begin again.
    fn is_overtaken(&self, error: &Error) -> bool {
        let any_version = self.options.preconditions.resource_version.is_none();
        any_version && error.reason() == Some(&Reason::Conflict)
    }

    /// Reads the pod, and takes a disruption from its budget where that protects it.
    async fn allowance(&self) -> Result<Allowance, Error> {
        self.api.store.read_index().await?;
        let (pod, budgets) = self.find(&self.api.store.snapshot())?;
        let meant = &self.options.preconditions;
        let bind_version = match budgets.as_slice() {
            [] => {
                self.check(&pod, meant)?;
                pod::is_waiting(&pod)
            }
            [budget] if !pod::is_ready(&pod) && budget::spares_unready(budget) => {
                self.check(&pod, meant)?;
                true
            }
            [budget] => {
                self.ask(budget::name(budget), &pod).await?;
                false
            }
            _ => return Err(budget::several()),
        };
        let own = |field: &str| pod.str_at(&["metadata", field]).map(str::to_owned);
        let uid = meant.uid.clone().or_else(|| own("uid"));
        let version = meant.resource_version.clone();
        let resource_version =
            if bind_version { version.or_else(|| own("resourceVersion")) } else { version };
        let budget = budgets.first().map(|budget| budget::name(budget).to_owned());
        Ok(Allowance { bound: Preconditions { uid, resource_version }, budget })
    }

    /// The pod and the budgets that protect it: none, where no budget counts it.
    fn find(&self, snapshot: &Snapshot) -> Result<(Value, Vec<Value>), Error> {
        let Target { resource, namespace, .. } = self.pod;
        let entry = snapshot.get(&self.pod.key()).ok_or_else(|| self.no_pod())?;
        let pod = stored_codec::decode(resource, entry)?;
        let mut found = Vec::new();
        if pod::is_uncounted(&pod) {
            return Ok((pod, found));
        }
        let (header, budgets) = (stored_codec::header(resource, &entry.value)?, self.budgets()?);
        for (_, entry) in snapshot.range(&budgets.prefix(namespace), None) {
            let budget = stored_codec::decode(budgets, entry)?;
            if budget::selector(&budget).is_some_and(|selector| header.matches(&selector)) {
                found.push(budget);
            }
        }
        Ok((pod, found))
    }

    /// Takes a disruption from a budget for the pod, unless that is not the one that is meant.
    async fn ask(&self, name: &str, pod: &Value) -> Result<(), Error> {
        let budgets = self.budgets()?;
        let target = Target { resource: budgets, namespace: self.pod.namespace, name };
        let change = |current: Option<&Value>| -> Result<Value, Error> {
            let current =
                current.ok_or_else(|| Status::not_found(&budgets.group_resource(), name))?;
            let taken = budget::take(current, self.pod.name, self.now())?;
            self.check(pod, &self.options.preconditions)?;
            Ok(taken)
        };
        self.writer.update(target, self.status_update(), change).await.map(drop)
    }

    /// Marks the pod and deletes it.
    async fn remove(&self, bound: &Preconditions) -> Result<(), Error> {
        let mut options = DeleteOptions { preconditions: bound.clone(), ..self.options.clone() };
        if !options.dry_run {
            let marked = self.mark(bound).await?;
            let version = &mut options.preconditions.resource_version;
            *version = version.take().map(|_| marked.to_string());
        }
        self.writer.delete(self.pod, &options).await.map(drop)
    }

    /// Writes the disruption into the pod's status; gives its version from then on.
    async fn mark(&self, bound: &Preconditions) -> Result<Revision, Error> {
        let change = |current: Option<&Value>| -> Result<Value, Error> {
            let mut pod = current.ok_or_else(|| self.no_pod())?.clone();
            self.check(&pod, bound)?;
            pod::mark(&mut pod, self.now());
            Ok(pod)
        };
        Ok(self.writer.update(self.pod, self.status_update(), change).await?.revision)
    }

    fn check(&self, pod: &Value, meant: &Preconditions) -> Result<(), Error> {
        pod::refuse_other(&self.pod.resource.group_kind(), pod, meant)
    }

    fn status_update(&self) -> UpdateOptions<'_> {
        let write = WriteOptions {
            dry_run: self.options.dry_run,
            manager: self.manager,
            given: GivenOptions::NONE,
        };
        UpdateOptions { write, part: Part::Status, if_match: None, replaces: false, named: None }
    }

    fn budgets(&self) -> Result<&Arc<Resource>, Error> {
        let found = self.catalogue.find_builtin(
            &self.api.names.group("policy"),
            "v1",
            "poddisruptionbudgets",
        );
        found.ok_or_else(|| Error::internal("disruption budgets are not served"))
    }

    fn no_pod(&self) -> Error {
        Status::not_found(&self.pod.resource.group_resource(), self.pod.name).into()
    }

    fn now(&self) -> Time {
        Time::from_ms(self.api.env.clock.now_ms())
    }
}
