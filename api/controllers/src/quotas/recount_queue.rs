//! The work queue of the ResourceQuota controller: the namespaces with quotas, and those that have
//! to be counted again.
//!
//! Invariant: a change that makes the objects of a namespace use more or less of a quota than its
//! status says queues the namespace, unless the change was charged in its own transaction, or a
//! count has seen it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_meta::{Names, Time, Value};
use quorate_store::{Entry, Event, Revision, Snapshot, WatchBatch};
use tokio::time::Instant;

use super::count::Counted;
use crate::context::Context;
use quorate_admission::plugins::quota::{self, QUOTAS, Quota};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::{CurrentCatalogue, Resource, stored_codec};

/// Quotas that are read before other tasks may run.
const READ_STEP: usize = 256;

/// The namespaces with quotas.
#[derive(Debug)]
pub(super) struct RecountQueue {
    names: &'static Names,
    catalogue: Arc<CurrentCatalogue>,
    quotas: Arc<Resource>,
    namespaces: BTreeMap<String, NamespaceQuotas>,
    /// The namespaces to count again.
    pending: BTreeSet<String>,
}

/// A namespace with quotas.
#[derive(Debug, Default)]
struct NamespaceQuotas {
    quotas: BTreeMap<String, Quota>,
    /// The state that was counted last.
    counted: Revision,
    /// When it may be counted again; `None` before the first count.
    not_before: Option<Instant>,
}

impl RecountQueue {
    pub(super) fn new(context: &Context) -> Result<Self, Error> {
        let (names, catalogue) = (context.names, context.catalogue.clone());
        let quotas = context.resource(QUOTAS)?.clone();
        Ok(Self { names, catalogue, quotas, namespaces: BTreeMap::new(), pending: BTreeSet::new() })
    }

    /// Observes all quotas of a state.
    pub(super) async fn read(&mut self, snapshot: &Snapshot) {
        let quotas = self.quotas.clone();
        for (index, (key, entry)) in snapshot.range(&quotas.prefix(None), None).enumerate() {
            if index % READ_STEP == READ_STEP - 1 {
                tokio::task::yield_now().await;
            }
            if let Some((Some(namespace), name)) = quotas.parse_key(key) {
                self.observe_quota(namespace, name, Some(entry), snapshot.revision());
            }
        }
    }

    /// Observes a change.
    pub(super) fn observe(&mut self, batch: &WatchBatch) {
        for event in batch.events() {
            let Some(Key::Object { group, resource, namespace: Some(namespace), name }) =
                Key::parse(&event.key)
            else {
                continue;
            };
            if group.is_empty() && resource == QUOTAS {
                self.observe_quota(namespace, name, event.current.as_ref(), batch.revision());
            } else if self.needs_recount(namespace, event, batch) {
                self.pending.insert(namespace.to_owned());
            }
        }
    }

    /// Observes a quota. Charges do not matter: only what it allows, and whether its status is
    /// about that.
    fn observe_quota(
        &mut self,
        namespace: &str,
        name: &str,
        current: Option<&Entry>,
        revision: Revision,
    ) {
        let read = current.map(|entry| stored_codec::decode(&self.quotas, entry)).transpose();
        let read = read.unwrap_or_else(|error| {
            tracing::warn!(%error, namespace, name, "a quota cannot be read and is not reconciled");
            None
        });
        let Some(quota) = read.as_ref().map(Quota::of) else {
            return self.forget(namespace, name);
        };
        let found = self.namespaces.entry(namespace.to_owned()).or_default();
        let is_unsettled = quota.is_unsettled() && revision > found.counted;
        let is_known = found.quotas.get(name).is_some_and(|known| known.allows_the_same(&quota));
        found.quotas.insert(name.to_owned(), quota);
        if is_unsettled || !is_known {
            self.pending.insert(namespace.to_owned());
        }
    }

    fn forget(&mut self, namespace: &str, name: &str) {
        let Some(found) = self.namespaces.get_mut(namespace) else {
            return;
        };
        found.quotas.remove(name);
        if found.quotas.is_empty() {
            self.namespaces.remove(namespace);
            self.pending.remove(namespace);
        } else {
            // Quotas are counted, too.
            self.pending.insert(namespace.to_owned());
        }
    }

    /// Whether what a change does to the use of a quota is neither known nor charged.
    fn needs_recount(&self, namespace: &str, event: &Event, batch: &WatchBatch) -> bool {
        let Some(found) = self.namespaces.get(namespace) else {
            return false;
        };
        if batch.revision() <= found.counted || self.pending.contains(namespace) {
            return false;
        }
        let catalogue = self.catalogue.load();
        let Some(resource) = catalogue.of_key(&event.key) else {
            return false;
        };
        let Some(counted) = quota::Counted::of(self.names, resource) else {
            return false;
        };
        let is_charged = |name: &str| {
            let key = self.quotas.key(Some(namespace), name);
            batch.batch().events.iter().any(|other| other.key == key)
        };
        let is_new = event.previous.is_none();
        let measuring = found.quotas.iter().filter(|(_, quota)| quota.measures(&counted));
        let uncharged = measuring.filter(|(name, _)| !(is_new && is_charged(name)));
        let mut concerned = uncharged.map(|(_, quota)| quota).peekable();
        if concerned.peek().is_none() {
            return false;
        }
        let read =
            |entry: &Option<Entry>| entry.as_ref().map(|entry| counted.read(resource, entry));
        let (before, after) = (read(&event.previous), read(&event.current));
        // A pod whose end is overdue was perhaps not so when it was counted, so time does not
        // matter here.
        let share = |quota: &Quota, object: &Option<Value>| {
            object
                .as_ref()
                .map(|object| quota.share(&counted, object, Time::default()))
                .unwrap_or_default()
        };
        concerned.any(|quota| share(quota, &before) != share(quota, &after))
    }

    /// Queues every namespace.
    pub(super) fn enqueue_all(&mut self) {
        self.pending.extend(self.namespaces.keys().cloned());
    }

    /// The namespaces to count now.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<String> {
        let is_due = |name: &&String| self.not_before_of(name).is_none_or(|until| until <= now);
        let due: Vec<String> = self.pending.iter().filter(is_due).cloned().collect();
        for name in &due {
            self.pending.remove(name);
        }
        due
    }

    /// When the next namespace is due; `None` while the queue is empty.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.pending.iter().map(|name| self.not_before_of(name).unwrap_or_else(Instant::now)).min()
    }

    fn not_before_of(&self, namespace: &str) -> Option<Instant> {
        self.namespaces.get(namespace)?.not_before
    }

    /// Ends a count; one that failed or was not written queues its namespace again, for `next`.
    pub(super) fn finish(&mut self, namespace: &str, counted: Option<Counted>, next: Instant) {
        let Some(found) = self.namespaces.get_mut(namespace) else {
            return;
        };
        found.counted = counted.map_or(found.counted, |counted| counted.at);
        found.not_before = Some(next);
        if !counted.is_some_and(|counted| counted.is_written) {
            self.pending.insert(namespace.to_owned());
        }
    }

    /// Whether there is no quota.
    pub(super) fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use quorate_env::SystemEnv;
    use quorate_meta::Naming;
    use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
    use serde_json::json;

    use super::*;
    use quorate_kinds::builtin;
    use quorate_registry::keys;

    fn queue() -> RecountQueue {
        let names = Naming::Svc.names();
        let catalogue = CurrentCatalogue::new(builtin::catalogue_of(names));
        let quotas = catalogue.load().find("", "v1", QUOTAS).unwrap().clone();
        RecountQueue {
            names,
            catalogue,
            quotas,
            namespaces: BTreeMap::new(),
            pending: BTreeSet::new(),
        }
    }

    fn counted(at: u64, is_written: bool) -> Option<Counted> {
        Some(Counted { at: Revision::new(at), is_written })
    }

    /// A quota of pods whose status is about so many; without one when that is nothing.
    fn note(queue: &mut RecountQueue, name: &str, hard: &str, told: &str, revision: u64) {
        let status = if told.is_empty() {
            json!({})
        } else {
            json!({"hard": {"pods": told}, "used": {"pods": "0"}})
        };
        let spec = json!({"hard": {"pods": hard}});
        let object =
            json!({"metadata": {"name": name, "uid": "u"}, "spec": spec, "status": status});
        let value = stored_codec::encode(&queue.quotas, &object.into()).unwrap();
        let revision = Revision::new(revision);
        queue.observe_quota(
            "a",
            name,
            Some(&Entry { value, created: revision, modified: revision }),
            revision,
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_quota_allows_decides_when_it_is_counted() {
        let (mut queue, start) = (queue(), Instant::now());
        let second = |count: u64| start + Duration::from_secs(count);
        note(&mut queue, "q", "1", "", 5);
        assert_eq!(queue.take_due(start), ["a"]);
        assert!(queue.take_due(start).is_empty());
        queue.finish("a", counted(7, true), second(1));
        // What the count has seen, what it wrote, and charges.
        for (told, revision) in [("", 7), ("1", 8), ("1", 9)] {
            note(&mut queue, "q", "1", told, revision);
            assert_eq!(queue.next_due(), None, "{revision}");
        }
        note(&mut queue, "q", "2", "1", 10);
        assert_eq!(queue.next_due(), Some(second(1)));
        assert!(queue.take_due(start).is_empty());
        assert_eq!(queue.take_due(second(1)), ["a"]);
        queue.finish("a", counted(11, false), second(3));
        assert_eq!(queue.next_due(), Some(second(3)));
        assert_eq!(queue.take_due(second(3)), ["a"]);
        queue.finish("a", None, second(5));
        assert_eq!(queue.next_due(), Some(second(5)), "what has failed is tried again");
    }

    #[tokio::test]
    async fn a_creation_is_news_to_the_quotas_that_are_not_charged() {
        let mut queue = queue();
        let store = MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock));
        let mut changes = store.watch(keys::objects(), store.snapshot().revision()).unwrap();
        let mut check = async |objects: Vec<(&str, &str, serde_json::Value)>, expect: bool| {
            let operations = objects.into_iter().map(|(plural, name, fields)| {
                let mut object = Value::from(fields);
                object.set_at(&["metadata", "name"], name);
                object.set_at(&["metadata", "uid"], "u");
                let resource = queue.catalogue.load().find("", "v1", plural).unwrap().clone();
                let value = stored_codec::encode(&resource, &object).unwrap();
                Operation::Put { key: resource.key(Some("a"), name), value }
            });
            let operations = operations.collect();
            store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
            queue.observe(&changes.next().await.unwrap());
            let now = Instant::now();
            assert_eq!(!queue.take_due(now).is_empty(), expect);
            queue.finish("a", counted(store.snapshot().revision().get(), true), now);
        };
        let quota = |name: &'static str, amount: &str| {
            let hard = json!({amount: "5"});
            (
                QUOTAS,
                name,
                json!({"spec": {"hard": hard}, "status": {"hard": hard, "used": {amount: "0"}}}),
            )
        };
        let service = |name: &'static str, kind: &str| {
            ("services", name, json!({"spec": {"type": kind, "ports": [{"port": 80}]}}))
        };
        let all = || quota("q", "services");
        let longer = || quota("q2", "count/services");
        let ports = || quota("p", "services.nodeports");
        check(vec![all()], true).await;
        check(vec![service("a", "ClusterIP")], true).await;
        check(vec![service("b", "ClusterIP"), all()], false).await;
        check(vec![ports()], true).await;
        check(vec![service("c", "ClusterIP"), all()], false).await;
        check(vec![service("d", "NodePort"), all()], true).await;
        check(vec![service("e", "NodePort"), all(), ports()], false).await;
        check(vec![longer()], true).await;
        check(vec![service("f", "ClusterIP"), longer()], true).await;
        check(vec![service("g", "ClusterIP"), longer(), all()], false).await;
    }

    #[tokio::test(start_paused = true)]
    async fn namespaces_without_quotas_are_forgotten() {
        let mut queue = queue();
        for name in ["q", "r"] {
            note(&mut queue, name, "1", "1", 5);
        }
        queue.take_due(Instant::now());
        queue.observe_quota("a", "q", None, Revision::new(6));
        assert!(queue.next_due().is_some() && !queue.is_empty(), "the other one may count quotas");
        queue.observe_quota("a", "r", None, Revision::new(7));
        assert!(queue.next_due().is_none() && queue.is_empty());
        queue.observe_quota("a", "r", None, Revision::new(8));
        queue.finish("a", counted(9, false), Instant::now());
        assert!(queue.next_due().is_none() && queue.is_empty());
    }
}
