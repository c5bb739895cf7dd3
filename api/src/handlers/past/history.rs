//! The history of one object: its versions, newest first, and what each of them changed.
//!
//! Invariants: a page holds a bounded number of bytes of objects; what a version changed is told by
//! comparing it with the one before, as both are served today.

use http::{Response, StatusCode};
use quorate_env::blocking;
use quorate_meta::{GroupResource, Map, Status, Value};
use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_schema::fieldset::{Comparison, compare, differing_paths};
use quorate_store::{Past, PastError, Revision, Version};

use super::change::{Change, ChangeType};
use super::extent::document;
use super::shown::{Shown, shown};
use super::state::{archive, failure, is_purged};
use super::{AS_OF, parameters};
use crate::Api;
use crate::body::Body;
use crate::handlers::options::At;
use crate::handlers::{Request, snapshot};
use crate::respond;

/// Versions on a page at most.
const MAX_LIMIT: usize = 1000;
/// Versions that are read at a time.
const CHUNK_VERSIONS: usize = 32;
/// Bytes of stored objects after which a page ends.
const PAGE_BYTES: usize = 8 << 20;
/// Paths of changed fields that are told of one change.
pub(super) const MAX_PATHS: usize = 256;

/// Answers with a page of versions.
pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    if request.info.query.get(AS_OF).is_some() {
        return Err(Error::bad_request(format!("{AS_OF} is not allowed beside history")));
    }
    let (resource, name) = (request.resource()?, request.name()?);
    let limit = parameters::limit(request, MAX_LIMIT)?;
    let with_objects = request.info.query.flag("objects") != Some(false);
    let past = archive(api)?;
    let newest = snapshot::snapshot(api, request, At::MostRecent).await?.revision();
    let key = resource.key(request.namespace(), name);
    let scope = format!("history\n{}", key.escape_ascii());
    let position = parameters::position(api, request, &scope)?;
    let first_read = position.as_ref().map_or(newest, |position| Revision::new(position.remaining));
    let before = position.as_ref().map_or(newest.next(), |position| position.revision);
    let page = read(&*past, &key, before, limit).map_err(failure)?;
    if page.shown == 0 {
        let resource = GroupResource::new(resource.group.as_str(), resource.plural.as_str());
        return Err(Status::not_found(&resource, name).into());
    }
    let mut metadata = Map::from([("resourceVersion", first_read.to_string())]);
    if page.more
        && let Some(last) = page.versions.get(page.shown - 1)
    {
        metadata.insert("continue", parameters::token(api, &scope, last.revision, first_read));
    }
    let mut answer = document(api, "ObjectHistory");
    answer.insert("metadata", Value::Map(metadata));
    answer.insert("items", Value::List(items(resource, &page, with_objects).await));
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}

/// Versions of a page and, where there is one, the version before the last of them.
struct HistoryPage {
    versions: Vec<Version>,
    /// How many of them are on the page.
    shown: usize,
    /// Whether there are older ones.
    more: bool,
}

/// The versions before a revision, newest first.
fn read(
    past: &dyn Past,
    key: &[u8],
    before: Revision,
    limit: usize,
) -> Result<HistoryPage, PastError> {
    let (mut versions, mut bytes, mut next) = (Vec::new(), 0, before);
    let mut ended = false;
    while !ended && versions.len() <= limit && bytes < PAGE_BYTES {
        let wanted = (limit + 1 - versions.len()).min(CHUNK_VERSIONS);
        let found: Vec<Version> = blocking(|| past.versions(key, next, wanted))?;
        ended = found.len() < wanted;
        for version in found {
            next = version.revision;
            bytes += version.entry.as_ref().map_or(0, |entry| entry.value.len());
            versions.push(version);
        }
    }
    let shown = if ended { versions.len().min(limit) } else { versions.len().saturating_sub(1) };
    Ok(HistoryPage { more: shown < versions.len(), shown, versions })
}

/// The items of a page.
async fn items(resource: &Resource, page: &HistoryPage, with_objects: bool) -> Vec<Value> {
    let objects = objects(resource, &page.versions).await;
    let mut items = Vec::with_capacity(page.shown);
    for (place, version) in page.versions.iter().take(page.shown).enumerate() {
        let (object, before) = (&objects[place], objects.get(place + 1).and_then(Option::as_ref));
        let kind = type_of(version);
        let mut members = change_of(version).members();
        if version.entry.as_ref().is_some_and(is_purged) {
            members.insert("purged", true);
        }
        members.insert("type", kind.name());
        if let (ChangeType::Modified, Some(Ok(object)), Some(Ok(before))) = (kind, object, before) {
            put_changed(resource, before, object, &mut members);
        }
        if version.time_ms.is_none() {
            members.insert("oldest", true);
        }
        match object {
            Some(Ok(object)) if with_objects => members.insert("object", object.clone()),
            Some(Err(why)) => members.insert("unreadable", why.as_str()),
            _ => None,
        };
        items.push(Value::Map(members));
        if place % CHUNK_VERSIONS == CHUNK_VERSIONS - 1 {
            tokio::task::yield_now().await;
        }
    }
    items
}

/// What a version says of its change.
pub(super) fn change_of(version: &Version) -> Change<'_> {
    Change { revision: version.revision, time_ms: version.time_ms, origin: &version.origin }
}

/// What a version did to the object. Of the oldest one it is not known.
fn type_of(version: &Version) -> ChangeType {
    match &version.entry {
        None => ChangeType::Deleted,
        Some(entry) if entry.created == version.revision || version.time_ms.is_none() => {
            ChangeType::Added
        }
        Some(_) => ChangeType::Modified,
    }
}

/// The objects of versions as they are served today; `None` for deletions and for what was purged.
pub(super) async fn objects(resource: &Resource, versions: &[Version]) -> Vec<Option<Shown>> {
    let readable = |version: &Version| version.entry.clone().filter(|entry| !is_purged(entry));
    shown(resource, versions.iter().map(readable).collect()).await
}

/// What differs between two versions, without bookkeeping.
pub(super) fn differences(resource: &Resource, before: &Value, after: &Value) -> Comparison {
    let [before, after] = [before, after].map(|object| plain(object.clone()));
    compare(&resource.graph(), resource.ty(), &before, &after)
}

/// An object without bookkeeping.
pub(super) fn plain(mut object: Value) -> Value {
    for field in ["resourceVersion", "managedFields"] {
        object.remove_at(&["metadata", field]);
    }
    object
}

/// Adds the paths that differ.
pub(super) fn put_changed(resource: &Resource, before: &Value, after: &Value, members: &mut Map) {
    let (paths, all) = differing_paths(&differences(resource, before, after), MAX_PATHS);
    members.insert("changed", Value::List(paths.into_iter().map(Value::from).collect()));
    if !all {
        members.insert("changedTruncated", true);
    }
}
