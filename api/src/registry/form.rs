//! Between the working form of objects and the stored one.
//!
//! Invariant: what the store holds was written by [`encode`]; a value that does not read back is a 500 that names the key's
//! resource, never a guess.

use bytes::Bytes;
use quorate_meta::{Cause, FieldSelector, LabelSelector, Time, Value};
use quorate_schema::fieldset::FieldSet;
use quorate_schema::{Graph, managed};
use quorate_store::Entry;
use quorate_wire::stored::{self, CorruptValue, StoredRef};

use super::{Part, Resource};
use crate::error::Error;

/// Fields that every stored object has in its header anyway.
const HEADER_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The stored form of an object.
///
/// # Errors
/// 400 when a text that objects are selected by is too long for the header.
pub(crate) fn encode(resource: &Resource, object: &Value) -> Result<Bytes, Error> {
    let fields = resource.selectable_fields.iter().filter(|field| !HEADER_FIELDS.contains(&field.as_str()));
    let selectable: Vec<(&str, String)> =
        fields.map(|field| (field.as_str(), resource.strategy.selectable(object, field))).collect();
    stored::encode(object, &selectable).map_err(|error| Error::bad_request(error.to_string()))
}

/// An object as clients see it, with its type and `resourceVersion`.
pub(crate) fn decode(resource: &Resource, entry: &Entry) -> Result<Value, Error> {
    let stored = StoredRef::parse(&entry.value).map_err(|error| unreadable(resource, &error))?;
    let version = entry.modified.get();
    stored.to_value(&resource.api_version, &resource.kind, version).map_err(|error| unreadable(resource, &error))
}

/// The header of a stored object.
pub(crate) fn header<'v>(resource: &Resource, value: &'v Bytes) -> Result<StoredRef<'v>, Error> {
    StoredRef::parse(value).map_err(|error| unreadable(resource, &error))
}

/// Whether the selectors choose a stored object.
pub(crate) fn matches(stored: &StoredRef<'_>, labels: &LabelSelector, fields: &FieldSelector) -> bool {
    stored.matches(labels) && fields.matches(|field| stored.field(field))
}

/// What the schema finds missing or out of range.
pub(crate) fn structure_problems(graph: &Graph, resource: &Resource, object: &Value) -> Vec<Cause> {
    quorate_schema::validate_structure(graph, resource.ty, object)
}

/// Who changed which fields between `old` and `new`, recorded in the new object's `metadata.managedFields`. Comes before the
/// strategy fills in what only the server sets.
pub(crate) fn track(
    graph: &Graph,
    resource: &Resource,
    part: Part,
    old: Option<&Value>,
    new: &mut Value,
    manager: &str,
    now: Time,
) {
    let writer = managed::Writer {
        name: manager,
        api_version: &resource.api_version,
        subresource: part.subresource(),
        time: &now.seconds(),
        ignored: &FieldSet::of_fields(resource.strategy.ignored(part)),
    };
    managed::update_managed_fields(graph, resource.ty, old, new, &writer);
}

fn unreadable(resource: &Resource, error: &CorruptValue) -> Error {
    Error::internal(format!("a stored object of {} cannot be read: {error}", resource.qualified()))
}
