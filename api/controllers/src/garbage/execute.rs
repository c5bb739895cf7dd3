//! The writes that carry out a decision, each bound to the object as it was when the decision was
//! made.
//!
//! An object that has changed or gone meanwhile is left alone: its change queues it again.

use std::collections::HashSet;

use futures::stream::{self, StreamExt};
use quorate_meta::{Reason, Status, Value};

use super::decide::{Decision, ObjectVersion};
use super::graph::ObjectKey;
use crate::context::Context;
use quorate_registry::error::Error;
use quorate_registry::write::{DeleteOptions, Preconditions, Target};
use quorate_registry::{FOREGROUND, ORPHAN, Propagation};
use quorate_registry::{Part, stored_codec};

/// Dependents of one object that are changed at a time.
const CONCURRENT_DEPENDENTS: usize = 32;

/// Carries out a decision.
pub(super) async fn execute(
    context: &Context,
    key: &ObjectKey,
    decision: Decision,
) -> Result<(), Error> {
    match decision {
        Decision::Keep | Decision::Await(_) => Ok(()),
        Decision::Disown { seen, uids } => disown(context, key, Some(&seen), &uids).await,
        Decision::Delete { seen, propagation } => delete(context, key, seen, propagation).await,
        Decision::Unblock { seen } => unblock(context, key, &seen).await,
        Decision::Orphan { seen, dependents } => {
            let uids = std::slice::from_ref(&seen.uid);
            // A dependent that cannot be changed delays the owner, and no other one.
            stream::iter(dependents)
                .map(|dependent| async move { disown(context, &dependent, None, uids).await })
                .buffer_unordered(CONCURRENT_DEPENDENTS)
                .fold(Ok(()), async |before: Result<(), Error>, done| before.and(done))
                .await?;
            release(context, key, &seen, ORPHAN).await
        }
        Decision::Release { seen } => release(context, key, &seen, FOREGROUND).await,
    }
}

async fn delete(
    context: &Context,
    key: &ObjectKey,
    seen: ObjectVersion,
    propagation: Option<Propagation>,
) -> Result<(), Error> {
    let snapshot = context.store.snapshot();
    let (Some(entry), Some(resource)) = (snapshot.get(key), context.of_key(key)) else {
        return Ok(());
    };
    let resource = &*resource;
    let Some((namespace, name)) = resource.parse_key(key) else {
        return Ok(());
    };
    // What the object itself asks for goes before what its kind does by default when a client
    // deletes it.
    let object = stored_codec::decode(resource, entry)?;
    let finalizers =
        object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    let own = Propagation::of_finalizers(finalizers.iter().filter_map(Value::as_str));
    let propagation = propagation.or(own).unwrap_or(Propagation::Background);
    let options = DeleteOptions {
        preconditions: Preconditions {
            uid: Some(seen.uid),
            resource_version: Some(seen.revision.to_string()),
        },
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    ignore_overtaken(
        context.writer.delete(Target { resource, namespace, name }, &options).await.map(drop),
    )
}

/// Takes references to owners out of an object; of any revision when none is given.
async fn disown(
    context: &Context,
    key: &ObjectKey,
    seen: Option<&ObjectVersion>,
    uids: &[String],
) -> Result<(), Error> {
    let uids: HashSet<&str> = uids.iter().map(String::as_str).collect();
    change(context, key, seen, |object| {
        let Some(references) =
            object.at_mut(&["metadata", "ownerReferences"]).and_then(Value::as_list_mut)
        else {
            return;
        };
        references
            .retain(|reference| reference.str_at(&["uid"]).is_none_or(|uid| !uids.contains(uid)));
        if references.is_empty() {
            object.remove_at(&["metadata", "ownerReferences"]);
        }
    })
    .await
}

/// Makes an object's references block none of its owners.
async fn unblock(context: &Context, key: &ObjectKey, seen: &ObjectVersion) -> Result<(), Error> {
    change(context, key, Some(seen), |object| {
        let references =
            object.at_mut(&["metadata", "ownerReferences"]).and_then(Value::as_list_mut);
        for reference in references.into_iter().flatten() {
            reference.set_at(&["blockOwnerDeletion"], false);
        }
    })
    .await
}

/// Takes a finalizer of the collector's out of an object.
async fn release(
    context: &Context,
    key: &ObjectKey,
    seen: &ObjectVersion,
    finalizer: &str,
) -> Result<(), Error> {
    change(context, key, Some(seen), |object| {
        let Some(finalizers) =
            object.at_mut(&["metadata", "finalizers"]).and_then(Value::as_list_mut)
        else {
            return;
        };
        finalizers.retain(|other| other.as_str() != Some(finalizer));
        if finalizers.is_empty() {
            object.remove_at(&["metadata", "finalizers"]);
        }
    })
    .await
}

async fn change(
    context: &Context,
    key: &ObjectKey,
    seen: Option<&ObjectVersion>,
    mut edit: impl FnMut(&mut Value) + Send,
) -> Result<(), Error> {
    let Some(resource) = context.of_key(key) else {
        return Ok(());
    };
    let resource = &*resource;
    let Some((namespace, name)) = resource.parse_key(key) else {
        return Ok(());
    };
    let target = Target { resource, namespace, name };
    let options = context.update_options(Part::Main);
    let change = |current: Option<&Value>| {
        let meant = current.filter(|object| {
            let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default();
            seen.is_none_or(|seen| {
                text("uid") == seen.uid && text("resourceVersion") == seen.revision.to_string()
            })
        });
        let mut object = meant.cloned().ok_or_else(|| {
            Error::from(Status::not_found(&target.resource.group_resource(), target.name))
        })?;
        edit(&mut object);
        Ok(object)
    };
    ignore_overtaken(context.writer.update(target, options, change).await.map(drop))
}

/// An object that is gone or has changed needs nothing from this decision.
fn ignore_overtaken(done: Result<(), Error>) -> Result<(), Error> {
    match done {
        Err(error) if matches!(error.reason(), Some(Reason::NotFound | Reason::Conflict)) => Ok(()),
        done => done,
    }
}
