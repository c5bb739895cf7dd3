//! The namespace controller: deletes the content of terminating namespaces, and finalizes them.
//!
//! Invariants: no object can be created in such a namespace, because the transaction that began its
//! deletion removed its live marker. So once it is empty it stays empty, and the cluster's own
//! entry is removed from `spec.finalizers`; other entries are left to their owners. Everything is
//! bound to the namespace's uid: another namespace of the same name may have been created
//! meanwhile.
//!
//! An object that cannot be read, or whose deletion is refused, holds only its own namespace and is
//! named in a condition there. A failure of the store ends the attempt.

mod conditions;
mod remaining;
mod terminating;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use quorate_meta::{Reason, Value};
use quorate_store::Snapshot;
use tokio::time::{sleep, timeout};

use self::remaining::{Failures, record_failure, remaining};
use self::terminating::TerminatingNamespace;
use crate::context::{Context, is_settled};
use quorate_registry::error::Error;
use quorate_registry::write::{DeleteOptions, Preconditions, Target};
use quorate_registry::{NAMESPACES, Part, Resource, stored_codec};

/// Deletions under way at a time.
const CONCURRENT_DELETIONS: usize = 64;
/// How often a namespace is reconciled that finalizers still hold.
const RESYNC_PERIOD: Duration = Duration::from_secs(1);
/// Remaining objects are read at about a hundred bytes a microsecond, so that reading them takes a
/// tenth of the time at most.
const BYTES_PER_MICROSECOND: usize = 10;
/// The longest back-off, however much is left.
const MAX_BACK_OFF: Duration = Duration::from_secs(30);

/// Runs for ever; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let prefix = context.resource(NAMESPACES)?.prefix(None);
    loop {
        let snapshot = context.current().await?;
        let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
        let (mut waiting, mut bytes) = (false, 0);
        for (name, live) in context.namespaces(&snapshot)? {
            if !live {
                let work = context.work.item(delete_content(context, &name));
                let left = work.await.unwrap_or_else(|error| {
                    tracing::warn!(%error, namespace = name, "a namespace cannot be emptied yet");
                    Some(0)
                });
                waiting |= left.is_some();
                bytes += left.unwrap_or_default();
            }
        }
        drop(snapshot);
        if waiting {
            sleep(back_off(bytes)).await;
            let _ = timeout(RESYNC_PERIOD, changes.next()).await;
        } else {
            changes.next().await?;
        }
    }
}

/// The back-off while so many bytes are left: all of them are read each time, whatever has changed.
fn back_off(bytes: usize) -> Duration {
    Duration::from_micros((bytes / BYTES_PER_MICROSECOND) as u64).min(MAX_BACK_OFF)
}

/// Deletes the content of the namespace. Gives the bytes that are left; `None` when this controller
/// has nothing left to do.
async fn delete_content(context: &Context, namespace: &str) -> Result<Option<usize>, Error> {
    let resource = &*context.resource(NAMESPACES)?;
    let snapshot = context.current().await?;
    let Some(entry) = snapshot.get(&resource.key(None, namespace)) else {
        return Ok(None);
    };
    let own = context.names.finalizer_namespace;
    let object = stored_codec::decode(resource, entry)?;
    let found = TerminatingNamespace::new(&object);
    if !found.is(&object) || !spec_finalizers(&object).any(|finalizer| finalizer == own) {
        return Ok(None);
    }
    // No resource may be left out that has objects in the namespace.
    context.follow_definitions();
    let catalogue = context.catalogue.load();
    let stored = catalogue.stored().filter(|resource| resource.namespaced);
    let mut failures = Failures::default();
    for resource in stored.filter(|resource| resource.serves("delete")) {
        delete_all(context, &snapshot, resource, namespace, &mut failures).await?;
    }
    let newest = context.current().await?;
    context.follow_definitions();
    let remaining = remaining(context, &newest, namespace, failures).await;
    let target = Target { resource, namespace: None, name: namespace };
    if remaining.objects.is_empty() {
        finalize(context, target, &found).await?;
        // Other entries of `spec.finalizers` may hold it still; its content does not any more.
        if object.at(&["status", "conditions"]).is_some() {
            conditions::report(context, target, &found, &remaining).await?;
        }
        return Ok(None);
    }
    conditions::report(context, target, &found, &remaining).await?;
    Ok(Some(remaining.bytes))
}

/// Deletes every object of a resource in the namespace whose deletion has not begun. Failures of
/// single objects are recorded; only a failure of the store ends it.
async fn delete_all(
    context: &Context,
    snapshot: &Snapshot,
    resource: &Arc<Resource>,
    namespace: &str,
    failures: &mut Failures,
) -> Result<(), Error> {
    let mut objects = snapshot.range(&resource.prefix(Some(namespace)), None);
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < CONCURRENT_DELETIONS
            && let Some((key, entry)) = objects.next()
        {
            tokio::task::consume_budget().await;
            let Some((namespace, name)) = resource.parse_key(key) else {
                continue;
            };
            let target = Target { resource, namespace, name };
            match stored_codec::header(resource, &entry.value) {
                Ok(stored) if stored.deletion_timestamp().is_some() => {}
                Ok(stored) => running.push(delete(context, target, stored.uid().to_owned())),
                Err(error) => record_failure(failures, target, error)?,
            }
        }
        match running.next().await {
            Some((_, Ok(()))) => {}
            Some((target, Err(error))) => record_failure(failures, target, error)?,
            None => return Ok(()),
        }
    }
}

async fn delete<'t>(
    context: &Context,
    target: Target<'t>,
    uid: String,
) -> (Target<'t>, Result<(), Error>) {
    let preconditions = Preconditions { uid: Some(uid), resource_version: None };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    let deleted = match context.writer.delete(target, &options).await {
        // Gone, or replaced: what is left is read afterwards.
        Err(error) if matches!(error.reason(), Some(Reason::NotFound | Reason::Conflict)) => Ok(()),
        deleted => deleted.map(drop),
    };
    (target, deleted)
}

/// Takes the cluster's entry out of `spec.finalizers`.
async fn finalize(
    context: &Context,
    target: Target<'_>,
    found: &TerminatingNamespace,
) -> Result<(), Error> {
    let own = context.names.finalizer_namespace;
    let change = |current: Option<&Value>| {
        let mut object = found.unchanged(target, current)?;
        let kept: Vec<&str> =
            current.into_iter().flat_map(spec_finalizers).filter(|name| *name != own).collect();
        if kept.is_empty() {
            object.remove_at(&["spec", "finalizers"]);
        } else {
            object.set_at(&["spec", "finalizers"], kept);
        }
        Ok(object)
    };
    let options = context.update_options(Part::Finalize);
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) => Ok(()),
        updated => updated.map(drop),
    }
}

fn spec_finalizers(namespace: &Value) -> impl Iterator<Item = &str> {
    let list = namespace.at(&["spec", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str)
}
