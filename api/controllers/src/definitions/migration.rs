//! The migration of a custom resource: the objects that are stored as another version than the
//! storage version are written again, and then only that version is told as stored.
//!
//! A client asks for it by an annotation of the definition, in which the controller keeps its place
//! and says how far it is ([`Progress`]). When the storage version changes meanwhile, it begins
//! anew.
//!
//! Invariants: an object is written by an update that changes nothing, bound to the revision that
//! was read, so no other write is lost. `status.storedVersions` is written only after a state was
//! seen in which every object has the storage version, and only to the definition that had it then.
//! All there is to know is stored, so another leader goes on.
//!
//! Not here: who may ask: every client that may change the definition.

mod progress;

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};
use memchr::memmem;
use quorate_extensions::crd::mark;
use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::write::{Beside, Target};
use quorate_registry::{DEFINITIONS, EXTENSIONS, Part, Resource, stored_codec};
use quorate_store::{Entry, Snapshot, WatchBatch};

pub use self::progress::{Progress, Stage};

use super::status::{self, Seen};
use crate::context::{Context, skip_failed_object};
use crate::retry_queue::RetryQueue;

/// Objects that are looked at between two writes of the place.
const SCAN: usize = 4096;
/// Objects that are written between two writes of the place.
const PAGE: usize = 256;
/// Writes under way at a time.
const CONCURRENT_WRITES: usize = 16;
/// How long to wait for the catalogue of this node to follow the definition.
const CATALOGUE_WAIT: Duration = Duration::from_millis(50);

/// Runs for ever; returns only with an error, after which it is started again.
pub(crate) async fn run(context: &Context) -> Result<(), Error> {
    let Some(resource) = context.find(&context.names.group(EXTENSIONS), "v1", DEFINITIONS) else {
        return pending().await;
    };
    let snapshot = context.current().await?;
    let prefix = resource.prefix(None);
    let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
    let annotation = Progress::annotation(context.names);
    let finder = memmem::Finder::new(&annotation);
    // Most definitions have no migration, and are not read to find that out.
    let due_name = |key: &[u8], entry: Option<&Entry>| {
        let (_, name) = resource.parse_key(key)?;
        entry.filter(|entry| finder.find(&entry.value).is_some()).map(|_| name.to_owned())
    };
    let mut due: BTreeSet<String> = snapshot
        .range(&prefix, None)
        .filter_map(|(key, entry)| due_name(key, Some(entry)))
        .collect();
    drop(snapshot);
    let names_of = |batch: &WatchBatch| -> Vec<String> {
        let events = batch.events();
        events.filter_map(|event| due_name(&event.key, event.current.as_ref())).collect()
    };
    let mut retries = RetryQueue::default();
    loop {
        while let Some(batch) = changes.next().now_or_never() {
            let batch = batch?;
            due.extend(names_of(&batch));
        }
        if let Some(name) = due.pop_first() {
            context.work.waits(due.len() + 1);
            let done = context.work.item(step(context, &resource, &name)).await.map(|again| {
                if again {
                    due.insert(name.clone());
                }
            });
            retries.record(name, done)?;
            continue;
        }
        tokio::select! {
            batch = changes.next() => {
                let batch = batch?;
                due.extend(names_of(&batch));
            }
            names = retries.due() => due.extend(names),
        }
    }
}

/// One step of the migration of a definition; gives whether there is another one.
async fn step(context: &Context, definitions: &Resource, name: &str) -> Result<bool, Error> {
    let snapshot = context.current().await?;
    let Some(seen) = Seen::read(definitions, &snapshot, name)? else {
        return Ok(false);
    };
    let definition = &seen.definition;
    let (Some(progress), Some(storage)) =
        (Progress::of(context.names, &seen.object), definition.storage_version())
    else {
        return Ok(false);
    };
    let is_over = progress.stage == Stage::Done || definition.is_terminating;
    if is_over || !definition.is_established() {
        return Ok(false);
    }
    let target = Target { resource: definitions, namespace: None, name };
    if progress.stage == Stage::Asked || progress.version != storage.name {
        return save(context, target, &seen, &Progress::begin(&storage.name)).await;
    }
    let catalogue = context.catalogue.load();
    let stored = catalogue.stored_as(&definition.group, &definition.names.plural);
    let Some(resource) = stored.filter(|resource| resource.version == storage.name) else {
        tokio::time::sleep(CATALOGUE_WAIT).await;
        return Ok(true);
    };
    let page = Page::find(resource, &snapshot, progress.after.as_deref())?;
    let mut next = progress.clone();
    next.seen += page.seen;
    next.written += page.found.len() as u64;
    write_again(context, resource, page.found).await?;
    if let Some(after) = page.last {
        next.after = Some(after);
        return save(context, target, &seen, &next).await;
    }
    finish(context, target, &seen, resource, next).await
}

/// The next objects of a definition.
struct Page {
    /// Those that are stored as another version.
    found: Vec<(Bytes, Entry)>,
    /// Objects looked at.
    seen: u64,
    /// The place of the last one; `None` when there is none.
    last: Option<String>,
}

impl Page {
    fn find(resource: &Resource, snapshot: &Snapshot, after: Option<&str>) -> Result<Self, Error> {
        let after = after.map(|place| [&resource.prefix[..], place.as_bytes()].concat());
        let mut page = Self { found: Vec::new(), seen: 0, last: None };
        let mut last = None;
        for (key, entry) in snapshot.range(&resource.prefix, after.as_deref()) {
            if !is_of(resource, entry)? {
                page.found.push((key.clone(), entry.clone()));
            }
            page.seen += 1;
            last = key.get(resource.prefix.len()..);
            if page.found.len() == PAGE || page.seen as usize == SCAN {
                break;
            }
        }
        page.last = last.map(|place| String::from_utf8_lossy(place).into_owned());
        Ok(page)
    }
}

/// Whether an object is stored as the version of the resource.
fn is_of(resource: &Resource, entry: &Entry) -> Result<bool, Error> {
    let stored = stored_codec::header(resource, &entry.value)?.mark().map(mark::parts);
    Ok(stored.is_some_and(|(version, _)| version == resource.version))
}

/// Writes objects as they are read now; one that is refused holds up no other. A webhook converts
/// them together before: what it made of each is remembered. Where it cannot, the single writes
/// tell why.
async fn write_again(
    context: &Context,
    resource: &Arc<Resource>,
    objects: Vec<(Bytes, Entry)>,
) -> Result<(), Error> {
    if let Some(remote) = &resource.remote {
        let mut values: Vec<Bytes> = objects.iter().map(|(_, entry)| entry.value.clone()).collect();
        let _ = remote.to_served(&mut values).await;
    }
    let mut writes = stream::iter(objects)
        .map(|(key, entry)| async move {
            let Some((namespace, name)) = resource.parse_key(&key) else {
                return Ok(());
            };
            let target = Target { resource, namespace, name };
            let same = |object: Option<&Value>| Ok(object.cloned().unwrap_or_default());
            let written = context.update_at(target, entry.modified, same).await;
            skip_failed_object(written, target)
        })
        .buffer_unordered(CONCURRENT_WRITES);
    let mut failed = Ok(());
    while let Some(written) = writes.next().await {
        failed = failed.and(written);
    }
    failed
}

/// Ends a migration that has come to its end, if none is left that is stored as another
/// version; gives whether there is another step.
async fn finish(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    resource: &Resource,
    mut progress: Progress,
) -> Result<bool, Error> {
    let snapshot = context.current().await?;
    let mut left = 0_u64;
    for (_, entry) in snapshot.range(&resource.prefix, None) {
        tokio::task::consume_budget().await;
        left += u64::from(!is_of(resource, entry)?);
    }
    if left > 0 {
        // Written meanwhile by a node that did not know of the version yet, or refused.
        progress.after = None;
        save(context, target, seen, &progress).await?;
        let why = format!("{left} objects are still stored as another version");
        return Err(Error::internal(why));
    }
    if seen.definition.stored_versions != [resource.version.as_str()] {
        let only = Value::List(vec![resource.version.as_str().into()]);
        let fields = vec![("storedVersions", only)];
        status::write(context, target, seen, fields, &Beside::default()).await?;
        return Ok(true);
    }
    progress.stage = Stage::Done;
    progress.after = None;
    save(context, target, seen, &progress).await
}

/// Writes the place into the definition, if that is still what was read; the step after it begins
/// with what is stored then.
async fn save(
    context: &Context,
    target: Target<'_>,
    seen: &Seen,
    progress: &Progress,
) -> Result<bool, Error> {
    let key = Progress::annotation(context.names);
    let change = |object: &mut Value| {
        object.set_at(&["metadata", "annotations", key.as_str()], progress.to_string());
    };
    status::update(context, target, seen, Part::Main, &Beside::default(), change).await?;
    Ok(true)
}
