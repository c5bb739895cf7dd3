//! The stored codec: between the working form of objects and the stored one.
//!
//! Invariant: the store holds only values that [`encode`] wrote; a value that does not read back is
//! a 500 that names the key's resource, never a guess.

use std::borrow::Cow;

use bytes::Bytes;
use quorate_meta::{Cause, FieldSelector, LabelSelector, Value};
use quorate_store::Entry;
use quorate_wire::stored::{self, CorruptValue, StoredRef};

use super::{Resource, Strategy};
use crate::error::Error;

/// Fields that every stored object has in its header.
const HEADER_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The stored form of an object.
///
/// # Errors
/// 400 when the value of a selectable field is too long for the header.
pub fn encode(resource: &Resource, object: &Value) -> Result<Bytes, Error> {
    let Some(form) = &resource.stored_form else {
        return encode_as_it_is(&resource.selectable_fields, &*resource.strategy, object);
    };
    let mut object = object.clone();
    form.conversion.to_stored(&mut object);
    encode_as_it_is(&form.selectable_fields, &*form.strategy, &object)
}

fn encode_as_it_is(
    fields: &[String],
    strategy: &dyn Strategy,
    object: &Value,
) -> Result<Bytes, Error> {
    let fields = fields.iter().filter(|field| !HEADER_FIELDS.contains(&field.as_str()));
    let selectable: Vec<(&str, String)> =
        fields.map(|field| (field.as_str(), strategy.selectable(object, field))).collect();
    stored::encode(object, &selectable).map_err(|error| Error::bad_request(error.to_string()))
}

/// An object as clients see it, with its type and `resourceVersion`.
pub fn decode(resource: &Resource, entry: &Entry) -> Result<Value, Error> {
    let stored = StoredRef::parse(&entry.value).map_err(|error| unreadable(resource, &error))?;
    let version = entry.modified.get();
    let object = stored.to_value(&resource.api_version, &resource.kind, version);
    let mut object = object.map_err(|error| unreadable(resource, &error))?;
    if let Some(form) = &resource.stored_form {
        form.conversion.to_served(&mut object);
    }
    Ok(object)
}

/// An object without a revision, as clients see it: the result of a creation in a dry run.
pub fn decode_unversioned(
    resource: &Resource,
    api_version: &str,
    value: &Bytes,
) -> Result<Value, Error> {
    let value = served(resource, value).map_err(|error| unreadable(resource, &error))?;
    let object = header(resource, &value)?.to_value(api_version, &resource.kind, 0);
    let mut object = object.map_err(|error| unreadable(resource, &error))?;
    object.remove_at(&["metadata", "resourceVersion"]);
    Ok(object)
}

/// A stored value in the form that the resource serves: the value itself for kinds without a
/// conversion.
///
/// # Errors
/// A value that does not read back.
pub fn served<'v>(resource: &Resource, value: &'v Bytes) -> Result<Cow<'v, Bytes>, CorruptValue> {
    // Not even the reference count is touched: concurrent lists would contend for its memory.
    let Some(form) = &resource.stored_form else {
        return Ok(Cow::Borrowed(value));
    };
    let mut object = StoredRef::parse(value)?.to_value("", "", 0)?;
    form.conversion.to_served(&mut object);
    stored::encode(&object, &[])
        .map(Cow::Owned)
        .map_err(|_| CorruptValue::Header("it has no metadata or too much of it"))
}

/// The header of a stored object: names and values of fields are those of the stored form.
pub fn header<'v>(resource: &Resource, value: &'v Bytes) -> Result<StoredRef<'v>, Error> {
    StoredRef::parse(value).map_err(|error| unreadable(resource, &error))
}

/// Whether the selectors match a stored object.
pub fn matches(stored: &StoredRef<'_>, labels: &LabelSelector, fields: &FieldSelector) -> bool {
    stored.matches(labels) && fields.matches(|field| stored.field(field))
}

/// The required fields that are missing and the values that are out of range, by the schema.
pub(crate) fn structure_problems(resource: &Resource, object: &Value) -> Vec<Cause> {
    quorate_schema::validate_structure(resource.graph(), resource.ty(), object)
}

fn unreadable(resource: &Resource, error: &CorruptValue) -> Error {
    Error::internal(format!("a stored object of {} cannot be read: {error}", resource.qualified()))
}
