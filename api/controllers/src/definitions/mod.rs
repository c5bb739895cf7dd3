//! The definitions of custom resources: which names each gets, whether it is established, and the
//! removal of its objects when it is deleted.
//!
//! Invariants: one write of the status decides all conditions, and puts the marker that lets the
//! resource take objects when it establishes it. Names are given in the order in which definitions
//! were created, those of one group one after the other; a write that gives some is also bound to
//! the other definitions that were seen to want them. A definition that is created after a deposed
//! leader looked is not among those, so that leader's late write may give a name twice.
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

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::strategy::live_definition_marker;
use quorate_registry::write::{Beside, Target};
use quorate_registry::{DEFINITIONS, EXTENSIONS, Resource, Step};
use quorate_store::{Revision, Snapshot, WatchBatch};

use self::cleanup::{Next, Pass};
use self::group::GroupNames;
use self::status::Seen;
use self::work::Work;
use crate::context::Context;
use crate::retry_queue::RetryQueue;

/// The name of the controller.
pub(crate) const NAME: &str = "customresourcedefinition-controller";

/// Definitions that are reconciled at a time.
const CONCURRENT_DEFINITIONS: usize = 16;

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

/// What was done about one definition.
struct Finished {
    name: String,
    done: Result<Next, Error>,
    /// The revision that its status was written at, if it was.
    written: Option<Revision>,
    /// Where its cleanup is.
    pass: Option<Pass>,
}

/// A write of the status that was decided.
struct StatusWrite {
    fields: Vec<(&'static str, Value)>,
    beside: Beside,
}

/// Runs for ever; returns only with an error, after which it is started again.
pub(crate) async fn run(context: &Context) -> Result<(), Error> {
    let Some(resource) = context.find(&context.names.group(EXTENSIONS), "v1", DEFINITIONS) else {
        return pending().await;
    };
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(resource.prefix(None), snapshot.revision())?;
    let mut own = Definitions::new(context, resource);
    own.read(&snapshot);
    drop(snapshot);
    let mut running = FuturesUnordered::new();
    loop {
        if running.len() < CONCURRENT_DEFINITIONS && own.work.has_next() {
            let snapshot = context.current().await?;
            // The names of all definitions are at least as new as the state that one is read from.
            while let Some(batch) = changes.try_next()? {
                own.observe(&batch);
            }
            while running.len() < CONCURRENT_DEFINITIONS
                && let Some(name) = own.work.next()
            {
                // Most have everything that they need, and there may be very many.
                tokio::task::consume_budget().await;
                if let Some(work) = own.begin(name, &snapshot)? {
                    running.push(work);
                }
            }
        }
        tokio::select! {
            Some(finished) = running.next(), if !running.is_empty() => own.finish(finished)?,
            batch = changes.next() => own.observe(&batch?),
            names = own.retries.due() => names.iter().for_each(|name| own.work.add(name)),
            () = own.work.due() => {}
        }
    }
}

impl<'c> Definitions<'c> {
    fn new(context: &'c Context, resource: Arc<Resource>) -> Self {
        Self {
            context,
            resource,
            work: Work::default(),
            retries: RetryQueue::default(),
            groups: GroupNames::default(),
            passes: BTreeMap::new(),
        }
    }

    /// Queues every stored definition, in the order of their creation.
    fn read(&mut self, snapshot: &Snapshot) {
        let mut stored = Vec::new();
        for (key, entry) in snapshot.range(&self.resource.prefix(None), None) {
            if let Some((_, name)) = self.resource.parse_key(key) {
                self.groups.observe(&self.resource, name, Some(entry));
                stored.push((entry.created, name));
            }
        }
        stored.sort_unstable();
        stored.into_iter().for_each(|(_, name)| self.work.add(name));
    }

    fn observe(&mut self, batch: &WatchBatch) {
        for event in batch.events() {
            if let Some((_, name)) = self.resource.parse_key(&event.key) {
                let current = event.current.as_ref();
                self.groups.observe(&self.resource, name, current);
                self.work.changed(name, current.map(|entry| entry.modified));
            }
        }
    }

    /// Decides what a definition needs, and begins to do it; `None` when nothing is left to do.
    fn begin(
        &mut self,
        name: String,
        snapshot: &Snapshot,
    ) -> Result<Option<BoxFuture<'c, Finished>>, Error> {
        let (context, resource) = (self.context, self.resource.clone());
        let seen = match Seen::read(&resource, snapshot, &name) {
            Ok(Some(seen)) => seen,
            Ok(None) => {
                self.work.set_conflicting(&name, false);
                return self.record(name, Ok(Next::Done)).map(|()| None);
            }
            Err(error) => return self.record(name, Err(error)).map(|()| None),
        };
        if seen.definition.is_terminating {
            self.work.set_conflicting(&name, false);
            let mut pass = self.passes.remove(&name).unwrap_or_default();
            let snapshot = snapshot.clone();
            return Ok(Some(Box::pin(async move {
                let target = Target { resource: &resource, namespace: None, name: &name };
                let step = cleanup::step(context, target, &seen, &snapshot, &mut pass);
                let done = context.work.item(step).await;
                Finished { name, done, written: None, pass: Some(pass) }
            })));
        }
        let Some(StatusWrite { fields, beside }) = self.judge(&name, &seen, snapshot) else {
            return self.record(name, Ok(Next::Done)).map(|()| None);
        };
        Ok(Some(Box::pin(async move {
            let target = Target { resource: &resource, namespace: None, name: &name };
            let write = status::write(context, target, &seen, fields, &beside);
            let written = context.work.item(write).await;
            let (done, written) = match written {
                Ok(Some(at)) => (Ok(Next::Done), Some(at)),
                Ok(None) => (Ok(Next::Again), None),
                Err(error) => (Err(error), None),
            };
            Finished { name, done, written, pass: None }
        })))
    }

    fn finish(&mut self, finished: Finished) -> Result<(), Error> {
        let Finished { name, done, written, pass } = finished;
        if let Some(pass) = pass {
            self.passes.insert(name.clone(), pass);
        }
        if let Some(at) = written {
            let is_observed = self.groups.revision(&name) == Some(at);
            self.work.settled(&name, at, is_observed);
        }
        self.record(name, done)
    }

    /// Queues a definition again where something is left to do.
    fn record(&mut self, name: String, done: Result<Next, Error>) -> Result<(), Error> {
        self.work.release(&name);
        let done = done.map(|next| match next {
            Next::Again => self.work.add(&name),
            Next::Wait(wait) => self.work.add_later(&name, wait),
            Next::Done => {
                self.passes.remove(&name);
            }
        });
        self.retries.record(name, done)
    }

    /// Decides the names and all conditions of a definition; `None` when it has them.
    fn judge(&mut self, name: &str, seen: &Seen, snapshot: &Snapshot) -> Option<StatusWrite> {
        let context = self.context;
        let Seen { object, definition, .. } = seen;
        let group = definition.group.as_str();
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
            beside.conditions = self.groups.unchanged(&self.resource, group, name, asked);
        }
        let fields = vec![
            ("acceptedNames", names::to_value(&verdict.names)),
            ("conditions", Value::List(conditions)),
        ];
        let is_there = seen.has(&fields) && beside.operations.is_empty();
        (!is_there).then_some(StatusWrite { fields, beside })
    }
}

/// Several findings in one text, as an error that has several others in it shows them.
fn joined(mut texts: Vec<String>) -> String {
    match texts.len() {
        0 | 1 => texts.pop().unwrap_or_default(),
        _ => format!("[{}]", texts.join(", ")),
    }
}
