//! Blame: which change gave each field of an object its value.
//!
//! Invariants: a field is ascribed to the newest change after which it had the value that it has
//! without a break; at most [`MAX_VERSIONS`] versions are looked at, and what is older is said to be.

use std::collections::BTreeMap;

use http::{Response, StatusCode};
use quorate_env::blocking;
use quorate_meta::{Map, Status, Value};
use quorate_registry::error::Error;
use quorate_registry::{Resource, stored_codec};
use quorate_schema::fieldset::{Leaf, leaves};
use quorate_store::{Revision, Version};

use super::extent::document;
use super::history::{change_of, differences, objects, plain};
use super::moment::{Moment, asked};
use super::state::{PastState, archive, failure, is_purged, resolve, time_text};
use crate::Api;
use crate::body::Body;
use crate::handlers::options::At;
use crate::handlers::{Request, snapshot};
use crate::respond;

/// Versions that are looked at.
const MAX_VERSIONS: usize = 1000;
/// Versions that are read at a time.
const CHUNK_VERSIONS: usize = 32;

/// Answers with the fields and their changes.
pub(super) async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    let state = match asked(request)? {
        Some(moment) => resolve(api, request, moment).await?,
        None => {
            archive(api)?;
            let newest = snapshot::snapshot(api, request, At::MostRecent).await?.revision();
            resolve(api, request, Moment::Revision(newest)).await?
        }
    };
    let key = resource.key(request.namespace(), name);
    let entry = blocking(|| state.past.get(&key, state.at)).map_err(failure)?;
    let entry = entry.ok_or_else(|| Status::not_found(&resource.group_resource(), name))?;
    let object = plain(stored_codec::decode_converted(resource, &entry).await?);
    let mut fields = leaves(&resource.graph(), resource.ty(), &object);
    fields.retain(|leaf| !is_type(leaf));
    let walk = walk(resource, &state, &key, &fields).await?;
    let mut answer = document(api, "ObjectBlame");
    answer.insert("metadata", Value::Map(metadata(&object, entry.modified)));
    answer.insert("fields", Value::List(walk.fields(&fields)));
    answer.insert("changes", Value::List(walk.changes.into_values().rev().collect()));
    answer.insert("complete", walk.complete);
    if let Some((revision, time_ms)) = walk.oldest {
        let mut oldest = Map::from([("revision", revision.to_string())]);
        if let Some(ms) = time_ms {
            oldest.insert("time", time_text(ms));
        }
        answer.insert("oldest", Value::Map(oldest));
    }
    respond::value(&request.format, StatusCode::OK, &Value::Map(answer))
}

/// `apiVersion` and `kind`, which no client sets.
fn is_type(leaf: &Leaf<'_>) -> bool {
    let [only] = leaf.path.as_slice() else { return false };
    matches!(only.field_name(), Some("apiVersion" | "kind"))
}

fn metadata(object: &Value, modified: Revision) -> Map {
    let mut metadata: Map = ["name", "namespace", "uid"]
        .into_iter()
        .filter_map(|field| Some((field, object.str_at(&["metadata", field])?)))
        .collect();
    metadata.insert("resourceVersion", modified.to_string());
    metadata
}

/// What a walk through the versions has found.
struct Walk {
    /// For each field the change that gave it its value.
    given_by: Vec<Option<Revision>>,
    /// Those changes.
    changes: BTreeMap<Revision, Value>,
    /// Where the walk stopped.
    oldest: Option<(Revision, Option<u64>)>,
    /// Whether the origin of every field is known.
    complete: bool,
}

impl Walk {
    fn fields(&self, leaves: &[Leaf<'_>]) -> Vec<Value> {
        let field = |(leaf, given_by): (&Leaf<'_>, &Option<Revision>)| {
            let mut field =
                Map::from([("path", Value::from(leaf.text())), ("value", leaf.value.clone())]);
            match given_by {
                Some(revision) => field.insert("revision", revision.to_string()),
                None => field.insert("older", true),
            };
            Value::Map(field)
        };
        leaves.iter().zip(&self.given_by).map(field).collect()
    }

    /// Ascribes fields to the change that made a version.
    fn ascribe(&mut self, version: &Version, mut is_given: impl FnMut(usize) -> bool) {
        let mut any = false;
        for place in 0..self.given_by.len() {
            if self.given_by[place].is_none() && is_given(place) {
                self.given_by[place] = Some(version.revision);
                any = true;
            }
        }
        if any {
            let members = change_of(version).members();
            self.changes.insert(version.revision, Value::Map(members));
        }
    }
}

/// Walks back from a state until the origin of every field is known.
async fn walk(
    resource: &Resource,
    state: &PastState,
    key: &[u8],
    fields: &[Leaf<'_>],
) -> Result<Walk, Error> {
    let mut walk = Walk {
        given_by: vec![None; fields.len()],
        changes: BTreeMap::new(),
        oldest: None,
        complete: false,
    };
    let (mut before, mut seen) = (state.at.next(), 0);
    // The version whose change is not known yet, because the one before it has not been read.
    let mut newer: Option<(Version, Value)> = None;
    while seen < MAX_VERSIONS {
        let versions = blocking(|| state.past.versions(key, before, CHUNK_VERSIONS));
        let versions = versions.map_err(failure)?;
        let mut ended = versions.len() < CHUNK_VERSIONS;
        let found = objects(resource, &versions).await;
        for (version, object) in versions.into_iter().zip(found) {
            (before, seen) = (version.revision, seen + 1);
            walk.oldest = Some((version.revision, version.time_ms));
            // What the version after it has changed cannot be told.
            if version.entry.as_ref().is_some_and(is_purged) {
                ended = true;
                break;
            }
            // An older object of the same name ends before its creation is passed.
            let Some(object) = object else { continue };
            // What cannot be read any more cannot be compared with.
            let Ok(object) = object else { return Ok(walk) };
            if let Some((newer, after)) = &newer {
                let comparison = differences(resource, &object, after);
                walk.ascribe(newer, |place| fields[place].is_changed_by(&comparison));
            }
            let is_creation = version.entry.as_ref().is_some_and(|e| e.created == version.revision);
            if is_creation && version.time_ms.is_some() {
                walk.ascribe(&version, |_| true);
            }
            if walk.given_by.iter().all(Option::is_some) {
                walk.complete = true;
                return Ok(walk);
            }
            newer = Some((version, object));
        }
        if ended {
            break;
        }
        tokio::task::yield_now().await;
    }
    Ok(walk)
}
