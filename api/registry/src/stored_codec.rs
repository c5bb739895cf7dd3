//! The stored codec: between the working form of objects and the stored one.
//!
//! Invariant: the store holds only values that [`encode`] wrote; a value that does not read back is
//! a 500 that names the key's resource, never a guess.

use std::borrow::Cow;

use bytes::Bytes;
use quorate_meta::{Cause, FieldSelector, Value};
use quorate_store::Entry;
use quorate_wire::stored::{self, CorruptValue, HeaderRef, SpliceRef, StoredRef};

use super::{Resource, StoredForm, Strategy, VersionReader};
use crate::error::Error;

/// Fields that every stored object has in its header.
const HEADER_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The stored form of an object.
///
/// # Errors
/// 400 when the value of a selectable field is too long for the header.
pub fn encode(resource: &Resource, object: &Value) -> Result<Bytes, Error> {
    let mark = resource.reader.as_ref().map(|reader| reader.mark());
    let Some(form) = &resource.stored_form else {
        return encode_as_it_is(&resource.selectable_fields, &*resource.strategy, mark, object);
    };
    let mut object = object.clone();
    form.conversion.to_stored(&mut object);
    encode_as_it_is(&form.selectable_fields, &*form.strategy, mark, &object)
}

/// The same, after another server has converted the object where that is due.
///
/// # Errors
/// Those of [`encode`] and of the conversion.
pub async fn encode_converted(resource: &Resource, object: &Value) -> Result<Bytes, Error> {
    let (Some(remote), Some(form)) = (&resource.remote, &resource.stored_form) else {
        return encode(resource, object);
    };
    let stored = remote.to_stored(object).await?;
    let mark = resource.reader.as_ref().map(|reader| reader.mark());
    encode_as_it_is(&form.selectable_fields, &*form.strategy, mark, &stored)
}

/// The stored form of an object without a conversion: `fields` are those that it can be selected
/// by, and `mark` says what form it is in.
///
/// # Errors
/// 400 when the value of one of them is too long for the header.
pub fn encode_as_it_is(
    fields: &[String],
    strategy: &dyn Strategy,
    mark: Option<&str>,
    object: &Value,
) -> Result<Bytes, Error> {
    let fields = fields.iter().filter(|field| !HEADER_FIELDS.contains(&field.as_str()));
    let selectable: Vec<(&str, String)> =
        fields.map(|field| (field.as_str(), strategy.selectable(object, field))).collect();
    let encoded = match mark {
        Some(mark) => stored::encode_marked(mark, object, &selectable),
        None => stored::encode(object, &selectable),
    };
    encoded.map_err(|error| Error::bad_request(error.to_string()))
}

/// An object as clients see it, with its type and `resourceVersion`.
pub fn decode(resource: &Resource, entry: &Entry) -> Result<Value, Error> {
    let stored = StoredRef::parse(&entry.value).map_err(|error| unreadable(resource, &error))?;
    let version = entry.modified.get();
    let object = stored.to_value(&resource.api_version, &resource.kind, version);
    let mut object = object.map_err(|error| unreadable(resource, &error))?;
    match unlike_served(resource, stored.mark()) {
        Unlike::No => {}
        Unlike::Version(form) => form.conversion.to_served(&mut object),
        Unlike::Mark(reader, mark) => reader.read(mark, &mut object),
    }
    Ok(object)
}

/// The same, after another server has converted the object where that is due.
///
/// # Errors
/// A value that does not read back, and those of the conversion.
pub async fn decode_converted(resource: &Resource, entry: &Entry) -> Result<Value, Error> {
    match converted(resource, &entry.value).await? {
        Cow::Borrowed(_) => decode(resource, entry),
        Cow::Owned(value) => decode(resource, &Entry { value, ..entry.clone() }),
    }
}

/// A stored value after another server has converted it where that is due. All that reads values
/// here, and does not wait for another server, takes such ones.
///
/// # Errors
/// Those of the conversion.
pub async fn converted<'v>(resource: &Resource, value: &'v Bytes) -> Result<Cow<'v, Bytes>, Error> {
    let Some(remote) = &resource.remote else {
        return Ok(Cow::Borrowed(value));
    };
    let mut values = [value.clone()];
    remote.to_served(&mut values).await?;
    let [value] = values;
    Ok(Cow::Owned(value))
}

/// How stored objects differ from those that a resource serves.
enum Unlike<'a> {
    No,
    /// A built-in kind is stored as another version.
    Version(&'a StoredForm),
    /// A custom object was stored as another version or by another schema.
    Mark(&'a dyn VersionReader, &'a str),
}

fn unlike_served<'a>(resource: &'a Resource, mark: Option<&'a str>) -> Unlike<'a> {
    match (&resource.reader, &resource.stored_form) {
        (Some(reader), _) => match mark {
            Some(mark) if !reader.serves_as_stored(mark) => Unlike::Mark(&**reader, mark),
            _ => Unlike::No,
        },
        (None, Some(form)) => Unlike::Version(form),
        (None, None) => Unlike::No,
    }
}

/// Whether an object is stored as it would be now, so that writing it again as it is served would
/// change nothing. Built-in objects always are.
pub fn is_stored_as_now(resource: &Resource, value: &Bytes) -> bool {
    let Some(reader) = &resource.reader else { return true };
    let header = HeaderRef::parse(value);
    header.is_ok_and(|header| {
        header.mark() == Some(reader.mark()) && reader.serves_as_stored(reader.mark())
    })
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
/// conversion, and for custom objects that are stored by the schema of today.
///
/// # Errors
/// A value that does not read back.
pub fn served<'v>(resource: &Resource, value: &'v Bytes) -> Result<Cow<'v, Bytes>, CorruptValue> {
    // Not even the reference count is touched: concurrent lists would contend for its memory.
    if resource.reader.is_none() && resource.stored_form.is_none() {
        return Ok(Cow::Borrowed(value));
    }
    let unlike = unlike_served(resource, HeaderRef::parse(value)?.mark());
    let mut object = match &unlike {
        Unlike::No => return Ok(Cow::Borrowed(value)),
        _ => StoredRef::parse(value)?.to_value(&resource.api_version, &resource.kind, 0)?,
    };
    match unlike {
        Unlike::No => {}
        Unlike::Version(form) => form.conversion.to_served(&mut object),
        Unlike::Mark(reader, mark) => reader.read(mark, &mut object),
    }
    stored::encode(&object, &[])
        .map(Cow::Owned)
        .map_err(|_| CorruptValue::Header("it has no metadata or too much of it"))
}

/// What `read` makes of a stored value in the form that the resource serves. The header of a value
/// that is in it already is read once.
///
/// # Errors
/// A value that does not read back.
pub fn read_served<T>(
    resource: &Resource,
    value: &Bytes,
    read: impl FnOnce(SpliceRef<'_>) -> T,
) -> Result<T, CorruptValue> {
    if resource.reader.is_none() && resource.stored_form.is_none() {
        return Ok(read(SpliceRef::parse(value)?));
    }
    let stored = StoredRef::parse(value)?;
    if matches!(unlike_served(resource, stored.mark()), Unlike::No) {
        return Ok(read(SpliceRef::from(&stored)));
    }
    let value = served(resource, value)?;
    Ok(read(SpliceRef::parse(&value)?))
}

/// Whether a selector of fields matches a stored object. The header has the fields of the schema
/// that the object was stored by; where another one is served now, the object itself is asked.
///
/// # Errors
/// A value that does not read back.
pub fn matches_fields(
    resource: &Resource,
    value: &Bytes,
    fields: &FieldSelector,
) -> Result<bool, CorruptValue> {
    let header = HeaderRef::parse(value)?;
    let Unlike::Mark(reader, mark) = unlike_served(resource, header.mark()) else {
        return Ok(fields.matches(|field| header.field(field)));
    };
    let mut object = StoredRef::parse(value)?.to_value(&resource.api_version, &resource.kind, 0)?;
    reader.read(mark, &mut object);
    let found: Vec<_> = fields
        .terms()
        .iter()
        .map(|term| (term.field.as_str(), resource.strategy.selectable(&object, &term.field)))
        .collect();
    let own = |field: &str| found.iter().find(|(name, _)| *name == field);
    Ok(fields.matches(|field| own(field).map(|(_, value)| value.as_str())))
}

/// Whether the header of a stored object has the fields by which the resource selects: the object is
/// stored in the form that is served.
#[must_use]
pub fn has_served_fields(resource: &Resource, header: &HeaderRef<'_>) -> bool {
    !matches!(unlike_served(resource, header.mark()), Unlike::Mark(..))
}

/// The header of a stored object: names and values of fields are those of the stored form.
pub fn header<'v>(resource: &Resource, value: &'v Bytes) -> Result<StoredRef<'v>, Error> {
    StoredRef::parse(value).map_err(|error| unreadable(resource, &error))
}

/// The required fields that are missing and the values that are out of range, by the schema.
pub(crate) fn structure_problems(resource: &Resource, object: &Value) -> Vec<Cause> {
    quorate_schema::validate_structure(&resource.graph(), resource.ty(), object)
}

fn unreadable(resource: &Resource, error: &CorruptValue) -> Error {
    Error::internal(format!("a stored object of {} cannot be read: {error}", resource.qualified()))
}
