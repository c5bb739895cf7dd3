//! Empties namespaces that are being deleted, and finalizes them.
//!
//! Nothing new can come into such a namespace: the transaction that began its deletion removed its live marker. So once it
//! is empty it stays empty, and the cluster's own entry is taken out of `spec.finalizers`; what stands there besides is
//! others' to take out. What was found is told to that very namespace only, by its uid: another one of the same name may
//! have come meanwhile, and without its finalizer it would go with objects in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use quorate_meta::{Status, Value};
use quorate_store::Snapshot;

use super::conditions;
use super::context::{Context, is_settled};
use crate::error::Error;
use crate::registry::write::{DeleteOptions, Preconditions, Target, UpdateOptions};
use crate::registry::{NAMESPACES, Part, Resource, form};

/// Deletions under way at a time.
const CONCURRENT_DELETIONS: usize = 64;
/// How often a namespace is looked at again that others still hold.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is left in a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Remaining {
    /// Objects by resource.
    pub(super) objects: BTreeMap<String, usize>,
    /// Objects by the finalizer that holds them.
    pub(super) finalizers: BTreeMap<String, usize>,
}

/// The uid of a namespace that is being deleted.
#[derive(Debug)]
pub(super) struct Found(String);

impl Found {
    /// Whether an object is that namespace, and still being deleted.
    fn is(&self, object: &Value) -> bool {
        let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default();
        text("uid") == self.0 && !text("deletionTimestamp").is_empty()
    }

    /// The namespace to change; 404 when it is gone, whatever has its name now.
    pub(super) fn again(&self, target: Target<'_>, current: Option<&Value>) -> Result<Value, Error> {
        let same = current.filter(|object| self.is(object)).cloned();
        same.ok_or_else(|| Status::not_found(&target.resource.group_resource(), target.name).into())
    }
}

/// Runs for ever; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let prefix = context.resource(NAMESPACES)?.prefix(None);
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.api.store.watch(prefix.clone(), snapshot.revision())?;
        let mut waiting = false;
        for (name, live) in context.namespaces(&snapshot)? {
            if !live {
                waiting |= !empty(context, &name).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, namespace = name, "a namespace cannot be emptied yet");
                    false
                });
            }
        }
        drop(snapshot);
        if waiting {
            let _ = tokio::time::timeout(LOOK_AGAIN, changes.next()).await;
        } else {
            changes.next().await?;
        }
    }
}

/// Deletes what is in the namespace. True when there is nothing left to do for it here.
async fn empty(context: &Context, namespace: &str) -> Result<bool, Error> {
    let resource = context.resource(NAMESPACES)?;
    let snapshot = context.current().await?;
    let Some(entry) = snapshot.get(&resource.key(None, namespace)) else { return Ok(true) };
    let own = context.api.names.finalizer_namespace;
    let object = form::decode(resource, entry)?;
    let found = Found(object.str_at(&["metadata", "uid"]).unwrap_or_default().to_owned());
    if !found.is(&object) || !spec_finalizers(&object).any(|finalizer| finalizer == own) {
        return Ok(true);
    }
    let stored = context.api.registry.iter().filter(|resource| resource.namespaced && resource.is_stored_form());
    for resource in stored.filter(|resource| resource.serves("delete")) {
        delete_all(context, &snapshot, resource, namespace).await?;
    }
    let remaining = remaining(context, &context.current().await?, namespace)?;
    let target = Target { resource, namespace: None, name: namespace };
    if remaining.objects.is_empty() {
        finalize(context, target, &found).await?;
        return Ok(true);
    }
    conditions::report(context, target, &found, &remaining).await?;
    Ok(false)
}

/// Deletes every object of a resource in the namespace whose deletion has not begun.
async fn delete_all(
    context: &Context,
    snapshot: &Snapshot,
    resource: &Arc<Resource>,
    namespace: &str,
) -> Result<(), Error> {
    let mut objects = snapshot.range(&resource.prefix(Some(namespace)), None);
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < CONCURRENT_DELETIONS
            && let Some((key, entry)) = objects.next()
        {
            let stored = form::header(resource, &entry.value)?;
            let (None, Some((namespace, name))) = (stored.deletion_timestamp(), resource.parse_key(key)) else {
                continue;
            };
            let target = Target { resource, namespace, name };
            running.push(delete(context, target, stored.uid().to_owned()));
        }
        match running.next().await {
            Some(deleted) => deleted?,
            None => return Ok(()),
        }
    }
}

async fn delete(context: &Context, target: Target<'_>, uid: String) -> Result<(), Error> {
    let preconditions = Preconditions { uid: Some(uid), resource_version: None };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    match context.writer.delete(target, &options).await {
        Err(error) if is_settled(&error) => Ok(()),
        deleted => deleted.map(drop),
    }
}

fn remaining(context: &Context, snapshot: &Snapshot, namespace: &str) -> Result<Remaining, Error> {
    let mut remaining = Remaining::default();
    for resource in context.api.registry.iter().filter(|resource| resource.namespaced && resource.is_stored_form()) {
        for (_, entry) in snapshot.range(&resource.prefix(Some(namespace)), None) {
            *remaining.objects.entry(resource.qualified()).or_default() += 1;
            let object = form::decode(resource, entry)?;
            let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
            for finalizer in finalizers.iter().filter_map(Value::as_str) {
                *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(remaining)
}

/// Takes the cluster's entry out of `spec.finalizers`.
async fn finalize(context: &Context, target: Target<'_>, found: &Found) -> Result<(), Error> {
    let own = context.api.names.finalizer_namespace;
    let change = |current: Option<&Value>| {
        let mut object = found.again(target, current)?;
        let kept: Vec<&str> = current.into_iter().flat_map(spec_finalizers).filter(|name| *name != own).collect();
        if kept.is_empty() {
            object.remove_at(&["spec", "finalizers"]);
        } else {
            object.set_at(&["spec", "finalizers"], kept);
        }
        Ok(object)
    };
    let options =
        UpdateOptions { write: context.options(), part: Part::Finalize, if_match: None, replaces: false, named: None };
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) => Ok(()),
        updated => updated.map(drop),
    }
}

fn spec_finalizers(namespace: &Value) -> impl Iterator<Item = &str> {
    let list = namespace.at(&["spec", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespace_is_told_from_a_later_one_of_its_name() {
        let found = Found("u".into());
        let check = |metadata: serde_json::Value, expect: bool| {
            assert_eq!(found.is(&json!({"metadata": metadata}).into()), expect, "{metadata}");
        };
        let gone = "2030-01-01T00:00:00Z";
        check(json!({"name": "a", "uid": "u", "deletionTimestamp": gone}), true);
        check(json!({"name": "a", "uid": "u"}), false);
        check(json!({"name": "a", "uid": "v"}), false);
        check(json!({"name": "a", "uid": "v", "deletionTimestamp": gone}), false);
    }
}
