//! The checker of objects, regardless of the writer: identity, deletion, finalizers, namespaces,
//! generations.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::object_history::{
    Change, Object, ObjectHistory, finalizers, is_terminating, stamp, text,
};
use super::times::Times;
use crate::api::{HOLD, ResourceKind, Verb, version};
use crate::workload::api::{ApiExchange, ApiRecords};

/// The finalizer of an owner that waits for its dependents.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose dependents are to lose it.
const ORPHAN: &str = "orphan";

/// Everything that is wrong with the committed objects.
pub(in crate::checkers) fn check(
    past: &ObjectHistory,
    times: &Times,
    records: &ApiRecords,
) -> Vec<String> {
    let mut rules = Rules { past, times, records, uids: BTreeSet::new(), marked: BTreeMap::new() };
    let mut violations = Vec::new();
    for change in &past.changes {
        let problem = match (&change.before, &change.now) {
            (None, Some(now)) => rules.created(change, now),
            (Some(before), Some(now)) => rules.updated(change, before, now),
            (Some(before), None) => rules.removed(change, before),
            (None, None) => Ok(()),
        };
        if let Err(problem) = problem {
            violations.push(format!("objects: {} at {}: {problem}", change.key, change.revision));
        }
    }
    violations.extend(check_stamps(past, records));
    violations
}

/// No request changes an object twice, and no change has a stamp that no client sent.
fn check_stamps(past: &ObjectHistory, records: &ApiRecords) -> Vec<String> {
    let asked: BTreeSet<&str> = records
        .exchanges
        .iter()
        .filter_map(|exchange| exchange.what.ask.stamp.as_deref())
        .collect();
    let mut violations = Vec::new();
    for (stamp, first) in past.stamps() {
        if let Some(again) = past.stamped(stamp).get(1) {
            violations.push(format!(
                "objects: request {stamp} was carried out at {first} and again at {again}"
            ));
        }
        if !asked.contains(stamp) {
            violations
                .push(format!("objects: no client has sent {stamp}, which is there at {first}"));
        }
    }
    violations
}

struct Rules<'a> {
    past: &'a ObjectHistory,
    times: &'a Times,
    records: &'a ApiRecords,
    uids: BTreeSet<String>,
    /// When the deletion of an object began, by its uid.
    marked: BTreeMap<String, u64>,
}

impl Rules<'_> {
    fn created(&mut self, change: &Change, now: &Value) -> Result<(), String> {
        let uid = text(now, "uid");
        if uid.is_empty() || !self.uids.insert(uid.to_owned()) {
            return Err(format!("it is created with the uid {uid} of another object"));
        }
        if is_terminating(now) {
            return Err("it is created as something that is being deleted".to_owned());
        }
        check_place(change, now)?;
        let namespace = text(now, "namespace");
        if namespace.is_empty() {
            return Ok(());
        }
        match self.past.get(&ResourceKind::Namespaces.key("", namespace), change.revision - 1) {
            None => Err("it is created in a namespace that does not exist".to_owned()),
            Some(namespace) if is_terminating(namespace) => {
                Err("it is created in a namespace that is being deleted".to_owned())
            }
            Some(_) => Ok(()),
        }
    }

    fn updated(&mut self, change: &Change, before: &Value, now: &Value) -> Result<(), String> {
        check_place(change, now)?;
        for field in ["uid", "creationTimestamp"] {
            if text(before, field) != text(now, field) {
                return Err(format!(
                    "its {field} changes from {} to {}",
                    text(before, field),
                    text(now, field)
                ));
            }
        }
        let generation =
            |object: &Value| object["metadata"]["generation"].as_u64().unwrap_or_default();
        if !(generation(before)..=generation(before) + 1).contains(&generation(now)) {
            return Err(format!(
                "its generation goes from {} to {}",
                generation(before),
                generation(now)
            ));
        }
        if !is_terminating(before) && is_terminating(now) {
            self.marked.insert(text(now, "uid").to_owned(), change.revision);
            return self.check_reason(change, before);
        }
        if is_terminating(before) {
            if !is_terminating(now)
                || text(now, "deletionTimestamp") > text(before, "deletionTimestamp")
            {
                return Err("its deletion is taken back or put off".to_owned());
            }
            if finalizers(now).any(|name| name == HOLD)
                && !finalizers(before).any(|name| name == HOLD)
            {
                return Err("it gets a finalizer while it is being deleted".to_owned());
            }
        }
        Ok(())
    }

    fn removed(&mut self, change: &Change, before: &Value) -> Result<(), String> {
        if finalizers(before).any(|name| name == HOLD) && !self.was_released(change, HOLD) {
            return Err("it goes while a finalizer holds it".to_owned());
        }
        for (policy, what) in [
            (FOREGROUND, "a dependent that blocks it"),
            (ORPHAN, "a dependent that still names it"),
        ] {
            if finalizers(before).any(|name| name == policy)
                && !self.was_released(change, policy)
                && let Some(dependent) = self.neglected(change, before, policy)
            {
                return Err(format!("it goes before {what}: {dependent}"));
            }
        }
        if change.key.starts_with(&ResourceKind::Namespaces.key("", "")) {
            let name = text(before, "name");
            let inside = |(_, object): &(&str, &Object)| text(object, "namespace") == name;
            if let Some((left, _)) = self.past.list("o/", change.revision).find(inside) {
                return Err(format!("the namespace goes with {left} in it"));
            }
        }
        if is_terminating(before) { Ok(()) } else { self.check_reason(change, before) }
    }

    /// Whether an owner was there just before a change, and was not going.
    fn is_owned(&self, change: &Change, namespace: &str, owner: &Value) -> bool {
        let kinds = [ResourceKind::ConfigMaps, ResourceKind::Secrets, ResourceKind::Services];
        let Some(kind) = kinds.into_iter().find(|kind| owner["kind"] == kind.name()) else {
            return false;
        };
        let key = kind.key(namespace, owner["name"].as_str().unwrap_or_default());
        let there = self.past.get(&key, change.revision - 1);
        there.is_some_and(|object| text(object, "uid") == owner["uid"] && !is_terminating(object))
    }

    /// A deletion begins because a client asked for it, all owners have gone or are going, or the
    /// namespace or the definition goes.
    fn check_reason(&self, change: &Change, before: &Value) -> Result<(), String> {
        let namespace = text(before, "namespace");
        let of_clients = stamp(before).is_some();
        let owners =
            before["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_left = !owners.is_empty()
            && !owners.iter().any(|owner| self.is_owned(change, namespace, owner));
        let goes = |key: &str| {
            self.past.get(key, change.revision - 1).is_some_and(|object| is_terminating(object))
        };
        let definition = ResourceKind::custom_of_key(&change.key)
            .map(|kind| ResourceKind::Definitions.key("", &kind.definition()));
        if !of_clients
            || is_left
            || goes(&ResourceKind::Namespaces.key("", namespace))
            || definition.is_some_and(|definition| goes(&definition))
        {
            return Ok(());
        }
        let asked = self.on(change).any(|exchange| {
            exchange.what.ask.verb == Verb::Delete
                && change.revision > self.times.shown_before(exchange.asked)
        });
        if asked { Ok(()) } else { Err("it is deleted though no client asked for that".to_owned()) }
    }

    /// Whether a client took a finalizer away with this very change: by a write, or by a deletion
    /// with another policy.
    fn was_released(&self, change: &Change, finalizer: &str) -> bool {
        self.on(change).any(|exchange| {
            let body = exchange.what.ask.body.as_ref();
            let kept = body.and_then(|body| body["metadata"]["finalizers"].as_array());
            let drops = match exchange.what.ask.verb {
                Verb::Update => kept.is_none_or(|kept| kept.iter().all(|name| name != finalizer)),
                Verb::MergePatch => {
                    kept.is_some_and(|kept| kept.iter().all(|name| name != finalizer))
                }
                Verb::Delete => {
                    finalizer != HOLD && change.revision > self.times.shown_before(exchange.asked)
                }
                _ => false,
            };
            let told = exchange
                .what
                .reply
                .as_ref()
                .filter(|reply| reply.is_success())
                .and_then(|reply| reply.version());
            drops && told.is_none_or(|told| told == change.revision)
        })
    }

    /// Requests about the object that may have been carried out.
    fn on(&self, change: &Change) -> impl Iterator<Item = &ApiExchange> {
        self.records.exchanges.iter().filter(|exchange| {
            let refused = exchange.what.reply.as_ref().is_some_and(|reply| reply.is_refusal());
            exchange.what.ask.writes()
                && !exchange.what.ask.dry_run
                && !refused
                && exchange.what.ask.key() == change.key
        })
    }

    /// A dependent that an owner with this policy should have waited for: it was one all the time
    /// since the deletion began.
    fn neglected(&self, change: &Change, owner: &Value, policy: &str) -> Option<String> {
        let uid = text(owner, "uid");
        let marked = *self.marked.get(uid)?;
        let depends = |object: Option<&Object>| {
            let owners = object.and_then(|object| object["metadata"]["ownerReferences"].as_array());
            owners.into_iter().flatten().any(|reference| {
                reference["uid"] == uid
                    && (policy == ORPHAN || reference["blockOwnerDeletion"] == true)
            })
        };
        let since = |(key, _): &(&str, &Object)| {
            let range = (marked, change.revision - 1);
            *key != change.key
                && depends(self.past.get(key, range.1))
                && !self.past.ever(key, range, |object| !depends(object))
        };
        self.past.list("o/", change.revision - 1).find(since).map(|(key, _)| key.to_owned())
    }
}

/// An object is where its names say.
fn check_place(change: &Change, now: &Value) -> Result<(), String> {
    let (namespace, name) = (text(now, "namespace"), text(now, "name"));
    let place =
        if namespace.is_empty() { format!("/{name}") } else { format!("/{namespace}/{name}") };
    if !change.key.ends_with(&place) {
        return Err(format!("it is called {place}"));
    }
    if version(now) != Some(change.revision) {
        return Err(format!("its resourceVersion is {:?}", version(now)));
    }
    Ok(())
}
