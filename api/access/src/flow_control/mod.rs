//! Which flow schema a request belongs to, and so which priority level, as two headers of its answer tell.
//!
//! Invariant: what is compiled is never older than what this node has applied. How many requests run is not decided here but by
//! [`InFlight`], which shares the places among users and asks for no schema.

mod in_flight;
pub use in_flight::{Class, InFlight, InFlightLimits, Place};
mod schema;

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use quorate_meta::{Names, Value};
use quorate_store::{Snapshot, Store, Watch};

use crate::authentication::User;
use crate::authorization::Action;
use quorate_registry::{Catalogue, Resource, stored_codec};
use schema::Schema;

const GROUP: &str = "flowcontrol.apiserver";
const VERSION: &str = "v1";

/// Classifies requests.
pub struct FlowControl {
    headers: [HeaderName; 2],
    /// The resources of schemas and levels; `None` where they are not served.
    resources: Option<[Arc<Resource>; 2]>,
    compiled: Mutex<Option<Compiled>>,
}

/// The schemas of a state, and the changes since.
struct Compiled {
    /// In the order in which they are asked.
    schemas: Arc<[Schema]>,
    changes: [Watch; 2],
}

/// What a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    schema: HeaderValue,
    level: HeaderValue,
}

impl FlowControl {
    /// Without schemas; they are compiled when the first request asks.
    #[must_use]
    pub fn new(names: &Names, catalogue: &Catalogue) -> Self {
        let group = names.group(GROUP);
        let find = |plural| catalogue.find(&group, VERSION, plural).cloned();
        let header =
            |name: &str| HeaderName::from_bytes(name.as_bytes()).expect("the names of headers are header names");
        Self {
            headers: [names.header_flow_schema, names.header_priority_level].map(header),
            resources: find("flowschemas").zip(find("prioritylevelconfigurations")).map(<[_; 2]>::from),
            compiled: Mutex::default(),
        }
    }

    /// What a request belongs to; `None` where no schema is for it.
    pub fn classify(&self, store: &dyn Store, user: &User, action: &Action<'_>) -> Option<Flow> {
        let schemas = self.schemas(store)?;
        schemas.iter().find(|schema| schema.matches(user, action)).map(|schema| schema.flow.clone())
    }

    /// Adds the headers that tell of it.
    pub fn tell(&self, flow: &Flow, headers: &mut HeaderMap) {
        for (name, value) in self.headers.iter().zip([&flow.schema, &flow.level]) {
            headers.insert(name, value.clone());
        }
    }

    fn schemas(&self, store: &dyn Store) -> Option<Arc<[Schema]>> {
        let resources = self.resources.as_ref()?;
        let mut compiled = self.compiled.lock();
        if let Some(compiled) = compiled.as_mut()
            && compiled.changes.iter_mut().all(|watch| matches!(watch.try_next(), Ok(None)))
        {
            return Some(compiled.schemas.clone());
        }
        *compiled = None;
        let snapshot = store.snapshot();
        let [schemas, levels] = resources;
        let watch = |resource: &Resource| store.watch(resource.prefix(None), snapshot.revision()).ok();
        let changes = [watch(schemas)?, watch(levels)?];
        let schemas = compile(schemas, levels, &snapshot);
        Some(compiled.insert(Compiled { schemas, changes }).schemas.clone())
    }
}

/// The schemas that lead to a level that is there, in the order in which they are asked.
fn compile(schemas: &Resource, levels: &Resource, snapshot: &Snapshot) -> Arc<[Schema]> {
    let mut found: Vec<(i64, Schema)> = Vec::new();
    // They come in the order of their names, which decides among those of the same precedence.
    for (_, entry) in snapshot.range(&schemas.prefix(None), None) {
        // What cannot be read matches nothing.
        let Ok(object) = stored_codec::decode(schemas, entry) else { continue };
        let level = object.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
        let level = snapshot.get(&levels.key(None, level)).and_then(|entry| stored_codec::decode(levels, entry).ok());
        let flow = level.and_then(|level| Some(Flow { schema: uid(&object)?, level: uid(&level)? }));
        let precedence = object.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64).unwrap_or_default();
        found.extend(flow.map(|flow| (precedence, Schema::new(flow, &object))));
    }
    found.sort_by_key(|(precedence, _)| *precedence);
    found.into_iter().map(|(_, schema)| schema).collect()
}

fn uid(object: &Value) -> Option<HeaderValue> {
    HeaderValue::from_str(object.str_at(&["metadata", "uid"])?).ok()
}

impl fmt::Debug for FlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowControl").field("headers", &self.headers).finish_non_exhaustive()
    }
}
