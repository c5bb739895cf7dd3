//! The definitions of custom resources: which names each gets, whether it is established, and the
//! removal of its objects when it is deleted.
//!
//! Invariants: one write of the status decides all conditions, and puts the marker that lets the
//! resource take objects when it establishes it. Names are given in the order in which definitions
//! were created; a write that gives some is also bound to the other definitions that were seen to want
//! them. A definition that is created after a deposed leader looked is not among those, so that
//! leader's late write may give a name twice.
//!
//! Not here: the resources that are made of definitions, and the validation of definitions.

mod approval;
mod cleanup;
mod established;
mod group;
pub(crate) mod migration;
mod names;
mod status;
mod structural;
#[cfg(test)]
mod tests;
mod work;

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

use futures::FutureExt;
use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::strategy::live_definition_marker;
use quorate_registry::write::{Beside, Target};
use quorate_registry::{DEFINITIONS, EXTENSIONS, Resource, Step};
use quorate_store::{Snapshot, WatchBatch};

use self::cleanup::{Next, Pass};
use self::group::GroupNames;
use self::status::Seen;
use self::work::Work;
use crate::context::Context;
use crate::retry_queue::RetryQueue;

/// The name of the controller.
pub(crate) const NAME: &str = "customresourcedefinition-controller";

/// The controller while it runs.
struct Definitions<'c> {
    context: &'c Context,
    resource: Arc<Resource>,
    work: Work,
    retries: RetryQueue<String>,
    groups: GroupNames,
    /// Where the cleanups under way are.
    passes: BTreeMap<String, Pass>,
}

/// Runs for ever; returns only with an error, after which it is started again.
pub(crate) async fn run(context: &Context) -> Result<(), Error> {
    let Some(resource) = context.find(&context.names.group(EXTENSIONS), "v1", DEFINITIONS) else {
        return pending().await;
    };
    let snapshot = context.current().await?;
    let prefix = resource.prefix(None);
    let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
    let mut stored: Vec<_> = snapshot
        .range(&prefix, None)
        .filter_map(|(key, entry)| Some((entry.created, resource.parse_key(key)?.1)))
        .collect();
    stored.sort_unstable();
    let mut work = Work::default();
    stored.into_iter().for_each(|(_, name)| work.add(name));
    drop(snapshot);
    let mut own = Definitions {
        context,
        resource,
        work,
        retries: RetryQueue::default(),
        groups: GroupNames::default(),
        passes: BTreeMap::new(),
    };
    loop {
        // Changes come in between the steps of a long cleanup.
        while let Some(batch) = changes.next().now_or_never() {
            own.observe(&batch?);
        }
        if let Some(name) = own.work.next() {
            own.reconcile(name).await?;
            continue;
        }
        tokio::select! {
            batch = changes.next() => own.observe(&batch?),
            names = own.retries.due() => names.iter().for_each(|name| own.work.add(name)),
            () = own.work.due() => {}
        }
    }
}

impl Definitions<'_> {
    fn observe(&mut self, batch: &WatchBatch) {
        for event in batch.events() {
            if let Some((_, name)) = self.resource.parse_key(&event.key) {
                self.work.changed(name);
            }
        }
    }

    /// Reconciles one definition, and queues it again where something is left to do.
    async fn reconcile(&mut self, name: String) -> Result<(), Error> {
        let done = self.advance(&name).await;
        let done = done.map(|next| match next {
            Next::Again => self.work.add(&name),
            Next::Wait(wait) => self.work.add_later(&name, wait),
            Next::Done => {
                self.passes.remove(&name);
            }
        });
        self.retries.record(name, done)
    }

    async fn advance(&mut self, name: &str) -> Result<Next, Error> {
        let snapshot = self.context.current().await?;
        let resource = self.resource.clone();
        let Some(seen) = Seen::read(&resource, &snapshot, name)? else {
            self.work.set_conflicting(name, false);
            return Ok(Next::Done);
        };
        let target = Target { resource: &resource, namespace: None, name };
        if seen.definition.is_terminating {
            self.work.set_conflicting(name, false);
            let pass = self.passes.entry(name.to_owned()).or_default();
            return cleanup::step(self.context, target, &seen, &snapshot, pass).await;
        }
        self.judge(target, &seen, &snapshot).await
    }

    /// Decides the names and all conditions of a definition.
    async fn judge(
        &mut self,
        target: Target<'_>,
        seen: &Seen,
        snapshot: &Snapshot,
    ) -> Result<Next, Error> {
        let (context, name) = (self.context, target.name);
        let Seen { object, definition, .. } = seen;
        let group = definition.group.as_str();
        self.groups.refresh(target.resource, snapshot, group);
        let taken = self.groups.taken(group, name);
        let verdict = names::decide(&definition.names, &definition.accepted, &taken);
        let names_accepted = verdict.condition.1;
        self.work.set_conflicting(name, !names_accepted);
        let facts = established::Facts {
            is_established: definition.is_established(),
            names_accepted,
            has_usable_bundle: definition.has_usable_bundle(),
        };
        let found: Vec<_> = [Some(verdict.condition)]
            .into_iter()
            .chain([
                established::decide(facts),
                approval::decide(context.names, group, object),
                structural::decide(context.catalogue.load().graph(), definition),
            ])
            .flatten()
            .collect();
        let is_structural = found.iter().all(|(kind, ..)| *kind != structural::NON_STRUCTURAL);
        let mut conditions = seen.conditions(context, &found);
        conditions.retain(|condition| {
            !is_structural || condition.str_at(&["type"]) != Some(structural::NON_STRUCTURAL)
        });
        let mut beside = Beside::default();
        let is_open = snapshot.get(&Key::LiveDefinition { name }.encode()).is_some();
        if facts.serves() && !is_open {
            beside.operations.push(live_definition_marker(Step::Created, name, &definition.uid));
        }
        if verdict.names != definition.accepted {
            let asked = &definition.names;
            beside.conditions = self.groups.unchanged(target.resource, group, name, asked);
        }
        let fields = vec![
            ("acceptedNames", names::to_value(&verdict.names)),
            ("conditions", Value::List(conditions)),
        ];
        if seen.has(&fields) && beside.operations.is_empty() {
            return Ok(Next::Done);
        }
        let written = status::write(context, target, seen, fields, &beside).await?;
        Ok(if written { Next::Done } else { Next::Again })
    }
}

/// Several findings in one text, as an error that has several others in it shows them.
fn joined(mut texts: Vec<String>) -> String {
    match texts.len() {
        0 | 1 => texts.pop().unwrap_or_default(),
        _ => format!("[{}]", texts.join(", ")),
    }
}
