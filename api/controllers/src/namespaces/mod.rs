//! Empties namespaces that are being deleted, and finalizes them.
//!
//! Nothing new can come into such a namespace: the transaction that began its deletion removed its live marker. So once it
//! is empty it stays empty, and the cluster's own entry is taken out of `spec.finalizers`; what stands there besides is
//! others' to take out. What was found is told to that very namespace only, by its uid: another one of the same name may
//! have come meanwhile, and without its finalizer it would go with objects in it.
//!
//! What is wrong with one object (it cannot be read, its deletion is refused) holds only the namespace that it is in, and is
//! told there; everything else goes all the same. A failure of the store ends the attempt.

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
use quorate_registry::write::{DeleteOptions, Preconditions, Target, UpdateOptions};
use quorate_registry::{NAMESPACES, Part, Resource, stored_codec};

/// Deletions under way at a time.
const CONCURRENT_DELETIONS: usize = 64;
/// How often a namespace is looked at again that others still hold.
const RESYNC_PERIOD: Duration = Duration::from_secs(1);
/// What is left is read at about a hundred bytes a microsecond, so that a tenth of the time goes there at most.
const BYTES_PER_MICROSECOND: usize = 10;
/// However much is left.
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
                let left = delete_content(context, &name).await.unwrap_or_else(|error| {
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

/// How long nothing is looked at where so much is left: it is read as a whole each time, whoever changes whatever meanwhile.
fn back_off(bytes: usize) -> Duration {
    Duration::from_micros((bytes / BYTES_PER_MICROSECOND) as u64).min(MAX_BACK_OFF)
}

/// Deletes what is in the namespace. The bytes of what is left there; `None` when there is nothing left to do for it here.
async fn delete_content(context: &Context, namespace: &str) -> Result<Option<usize>, Error> {
    let resource = &*context.resource(NAMESPACES)?;
    let snapshot = context.current().await?;
    let Some(entry) = snapshot.get(&resource.key(None, namespace)) else { return Ok(None) };
    let own = context.names.finalizer_namespace;
    let object = stored_codec::decode(resource, entry)?;
    let found = TerminatingNamespace::new(&object);
    if !found.is(&object) || !spec_finalizers(&object).any(|finalizer| finalizer == own) {
        return Ok(None);
    }
    let catalogue = context.catalogue.load();
    let stored = catalogue.iter().filter(|resource| resource.namespaced && resource.is_stored_form());
    let mut failures = Failures::default();
    for resource in stored.filter(|resource| resource.serves("delete")) {
        delete_all(context, &snapshot, resource, namespace, &mut failures).await?;
    }
    let remaining = remaining(context, &context.current().await?, namespace, failures).await;
    let target = Target { resource, namespace: None, name: namespace };
    if remaining.objects.is_empty() {
        finalize(context, target, &found).await?;
        // Where others hold it still, what was told of its content is over.
        if object.at(&["status", "conditions"]).is_some() {
            conditions::report(context, target, &found, &remaining).await?;
        }
        return Ok(None);
    }
    conditions::report(context, target, &found, &remaining).await?;
    Ok(Some(remaining.bytes))
}

/// Deletes every object of a resource in the namespace whose deletion has not begun. What is wrong with single objects is
/// noted; only a failure of the store ends it.
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
            let Some((namespace, name)) = resource.parse_key(key) else { continue };
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

async fn delete<'t>(context: &Context, target: Target<'t>, uid: String) -> (Target<'t>, Result<(), Error>) {
    let preconditions = Preconditions { uid: Some(uid), resource_version: None };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    let deleted = match context.writer.delete(target, &options).await {
        // Gone, or something else by now: what is left is seen afterwards.
        Err(Error::Status(status)) if matches!(status.reason, Reason::NotFound | Reason::Conflict) => Ok(()),
        deleted => deleted.map(drop),
    };
    (target, deleted)
}

/// Takes the cluster's entry out of `spec.finalizers`.
async fn finalize(context: &Context, target: Target<'_>, found: &TerminatingNamespace) -> Result<(), Error> {
    let own = context.names.finalizer_namespace;
    let change = |current: Option<&Value>| {
        let mut object = found.unchanged(target, current)?;
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
