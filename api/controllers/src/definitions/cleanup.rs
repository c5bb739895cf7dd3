//! The deletion of a definition: all of its objects go first, then its finalizer.
//!
//! Invariants: the marker that lets the resource take objects is removed before the first object
//! is, so once there is none there never is one again. What the cleanup goes by is stored, so
//! another leader goes on with it; only the place in the current pass is lost.
//!
//! An object that a finalizer holds, or whose deletion is refused, holds the definition. Objects of a
//! built-in resource are left alone: a definition that has its group and its plural goes at once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use quorate_meta::{Reason, Time, Value};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::strategy::live_definition_marker;
use quorate_registry::write::{Beside, DeleteOptions, Preconditions, Target};
use quorate_registry::{Part, Resource, Step, stored_codec};
use quorate_store::Snapshot;

use super::joined;
use super::status::{self, Seen};
use crate::conditions::Condition;
use crate::context::{Context, is_object_error};

/// The type of the condition.
const TERMINATING: &str = "Terminating";
/// Objects of one page.
const PAGE: usize = 512;
/// Deletions under way at a time.
const CONCURRENT_DELETIONS: usize = 64;
/// Failures that a message names.
const MAX_FAILURES: usize = 10;
/// How long a definition waits whose objects are held, besides what reading them costs.
const MIN_WAIT: Duration = Duration::from_secs(1);
/// The share of that for each object.
const WAIT_OF_OBJECT: Duration = Duration::from_micros(20);
/// How long objects may be held until the condition says so.
const PATIENCE_MS: u64 = 60_000;

/// Where the current pass over the objects of a definition is.
#[derive(Debug, Default)]
pub(super) struct Pass {
    after: Option<Bytes>,
    failures: Vec<String>,
    left: u32,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another step, at once.
    Again,
    /// Another step later: objects are held.
    Wait(Duration),
    /// Nothing.
    Done,
}

/// One step of the cleanup of a definition whose deletion has begun.
pub(super) async fn step(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    snapshot: &Snapshot,
    pass: &mut Pass,
) -> Result<Next, Error> {
    if !finalizers(&seen.object).any(|name| name == context.names.finalizer_custom_resources) {
        return Ok(Next::Done);
    }
    let definition = &seen.definition;
    let is_open = snapshot.get(&Key::LiveDefinition { name: target.name }.encode()).is_some();
    if is_open || !definition.conditions.iter().any(|condition| condition.ty == TERMINATING) {
        let operations = vec![live_definition_marker(Step::Terminating, target.name, "")];
        let beside = Beside { conditions: Vec::new(), operations };
        report(context, target, seen, in_progress(), &beside).await?;
        return Ok(Next::Again);
    }
    let prefix = Resource::storage_prefix(&definition.group, &definition.names.plural);
    let catalogue = context.catalogue.load();
    let resource = catalogue.stored_as(&definition.group, &definition.names.plural);
    if resource.is_some_and(|resource| !resource.is_custom()) {
        let why = "instances overlap with built-in resources in storage".to_owned();
        let overlap = (TERMINATING, true, "OverlappingBuiltInResource", why);
        return release(context, target, seen, overlap).await;
    }
    if snapshot.range(&prefix, None).next().is_none() {
        return finish(context, target, seen).await;
    }
    let Some(resource) = resource else {
        let why = format!("unable to find a custom resource client for {}", target.name);
        let why = failed(format!("could not list instances: {why}"));
        report(context, target, seen, why, &Beside::default()).await?;
        return Ok(Next::Wait(MIN_WAIT));
    };
    if delete_page(context, resource, snapshot, pass).await? {
        return Ok(Next::Again);
    }
    let Pass { failures, left, .. } = std::mem::take(pass);
    if context.current().await?.range(&prefix, None).next().is_none() {
        return Ok(Next::Again);
    }
    let now = context.env.clock.now_ms();
    report(context, target, seen, waiting(&seen.object, failures, now), &Beside::default()).await?;
    Ok(Next::Wait(MIN_WAIT + WAIT_OF_OBJECT * left))
}

/// Deletes the objects of the next page; gives whether there may be another one.
async fn delete_page(
    context: &Context,
    resource: &Arc<Resource>,
    snapshot: &Snapshot,
    pass: &mut Pass,
) -> Result<bool, Error> {
    let page = snapshot.range(&resource.prefix, pass.after.as_deref()).take(PAGE);
    let page: Vec<_> = page.map(|(key, entry)| (key.clone(), entry.clone())).collect();
    let is_last = page.len() < PAGE;
    pass.left += u32::try_from(page.len()).unwrap_or(u32::MAX);
    pass.after = page.last().map(|(key, _)| key.clone());
    let mut deletions = stream::iter(page)
        .map(|(key, entry)| async move {
            let Some((namespace, name)) = resource.parse_key(&key) else {
                return Ok(());
            };
            let stored = stored_codec::header(resource, &entry.value)?;
            if stored.deletion_timestamp().is_some() {
                return Ok(());
            }
            delete(context, Target { resource, namespace, name }, stored.uid().to_owned()).await
        })
        .buffer_unordered(CONCURRENT_DELETIONS);
    while let Some(deleted) = deletions.next().await {
        match deleted {
            Err(error) if is_object_error(&error) => {
                let why = error.into_status().message;
                if pass.failures.len() < MAX_FAILURES && !pass.failures.contains(&why) {
                    pass.failures.push(why);
                }
            }
            deleted => deleted?,
        }
    }
    Ok(!is_last)
}

async fn delete(context: &Context, target: Target<'_>, uid: String) -> Result<(), Error> {
    let preconditions = Preconditions { uid: Some(uid), resource_version: None };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    match context.writer.delete(target, &options).await {
        // It is gone already.
        Err(error) if matches!(error.reason(), Some(Reason::NotFound | Reason::Conflict)) => Ok(()),
        deleted => deleted.map(drop),
    }
}

/// Ends the cleanup of a definition that has no object left.
async fn finish(context: &Context, target: Target<'_>, seen: &Seen) -> Result<Next, Error> {
    let (reason, message) = if seen.definition.is_established() {
        ("InstanceDeletionCompleted", "removed all instances")
    } else {
        ("NeverEstablished", "resource was never established")
    };
    release(context, target, seen, (TERMINATING, false, reason, message.to_owned())).await
}

/// Tells why nothing more is done, and then removes the finalizer.
async fn release(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    condition: Condition,
) -> Result<Next, Error> {
    if report(context, target, seen, condition, &Beside::default()).await? {
        return Ok(Next::Again);
    }
    let own = context.names.finalizer_custom_resources;
    let kept: Vec<String> =
        finalizers(&seen.object).filter(|name| *name != own).map(Into::into).collect();
    let change = |object: &mut Value| {
        if kept.is_empty() {
            object.remove_at(&["metadata", "finalizers"]);
        } else {
            let kept = kept.iter().map(|name| Value::from(name.as_str())).collect();
            object.set_at(&["metadata", "finalizers"], Value::List(kept));
        }
    };
    let removed =
        status::update(context, target, seen, Part::Main, &Beside::default(), change).await?;
    Ok(if removed.is_some() { Next::Done } else { Next::Again })
}

/// Writes the condition, unless it is there already and no other key changes; gives whether it had
/// to be written.
async fn report(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    condition: Condition,
    beside: &Beside,
) -> Result<bool, Error> {
    let fields = vec![("conditions", Value::List(seen.conditions(context, &[condition])))];
    if seen.has(&fields) && beside.operations.is_empty() {
        return Ok(false);
    }
    status::write(context, target, seen, fields, beside).await?;
    Ok(true)
}

fn in_progress() -> Condition {
    let why = "CustomResource deletion is in progress".to_owned();
    (TERMINATING, true, "InstanceDeletionInProgress", why)
}

fn failed(why: String) -> Condition {
    (TERMINATING, true, "InstanceDeletionFailed", why)
}

/// The condition of a definition whose objects are still there after a pass over all of them.
fn waiting(object: &Value, mut failures: Vec<String>, now_ms: u64) -> Condition {
    if !failures.is_empty() {
        failures.sort_unstable();
        return failed(format!("could not issue all deletes: {}", joined(failures)));
    }
    let begun = object.str_at(&["metadata", "deletionTimestamp"]).and_then(|t| Time::parse(t).ok());
    if begun.is_none_or(|begun| now_ms.saturating_sub(begun.ms()) < PATIENCE_MS) {
        return in_progress();
    }
    let why =
        "could not confirm zero CustomResources remaining: timed out waiting for the condition";
    (TERMINATING, true, "InstanceDeletionCheck", why.to_owned())
}

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = object.at(&["metadata", "finalizers"]).and_then(Value::as_list);
    list.unwrap_or_default().iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn why_objects_are_left() {
        let begun = "2030-01-01T00:00:00Z";
        let object = Value::from(json!({"metadata": {"deletionTimestamp": begun}}));
        let check = |failures: &[&str], after_ms: u64, reason: &str, message: &str| {
            let failures = failures.iter().map(|text| (*text).to_owned()).collect();
            let now = Time::parse(begun).unwrap().ms() + after_ms;
            let (_, status, why, told) = waiting(&object, failures, now);
            assert_eq!((status, why, told.as_str()), (true, reason, message));
        };
        let progress = "CustomResource deletion is in progress";
        check(&[], 59_999, "InstanceDeletionInProgress", progress);
        let check_text =
            "could not confirm zero CustomResources remaining: timed out waiting for the condition";
        check(&[], 60_000, "InstanceDeletionCheck", check_text);
        check(&["a"], 60_000, "InstanceDeletionFailed", "could not issue all deletes: a");
        check(&["b", "a"], 0, "InstanceDeletionFailed", "could not issue all deletes: [a, b]");
    }
}
