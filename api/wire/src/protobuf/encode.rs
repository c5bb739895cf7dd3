//! The protobuf encoder: values in canonical form to messages. Equal values have equal bytes.
//!
//! Omitted: empty lists and maps, absent or `null` values with presence, and properties without a
//! field number (apiVersion and kind are in the envelope).

use quorate_meta::{Map, Value};
use quorate_schema::{Field, Graph, Scalar, Shape, TypeDef, TypeId};

use super::decode::{ENTRY_KEY, ENTRY_VALUE, WRAPPED_ITEMS};
use super::{Envelope, Error, MAX_DEPTH, Problem, scalar, writer};

/// Writes an object of type `ty` as a body with its envelope, which takes over apiVersion and kind.
///
/// # Errors
/// A value that is not of its field's type.
pub fn encode(graph: &Graph, ty: TypeId, object: &Value) -> Result<Vec<u8>, Error> {
    let raw = encode_message(graph, ty, object)?;
    let text = |name: &str| object.str_at(&[name]).unwrap_or_default();
    Ok(Envelope { api_version: text("apiVersion"), kind: text("kind"), raw: &raw }.write())
}

/// Writes a value of type `ty` as a message, without apiVersion and kind.
///
/// # Errors
/// A value that is not of its field's type.
pub fn encode_message(graph: &Graph, ty: TypeId, value: &Value) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    Encoder { graph }.content(ty, value, 1, &mut out)?;
    Ok(out)
}

/// What is written for a field that is absent.
pub(super) fn zero_field(graph: &Graph, tag: u32, field: &Field) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    Encoder { graph }.field(tag, field, &Map::new(), 1, &mut out)?;
    Ok(out)
}

struct Encoder<'g> {
    graph: &'g Graph,
}

impl Encoder<'_> {
    /// The content of a message.
    fn content(
        &self,
        id: TypeId,
        value: &Value,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let ty = self.graph.ty(id);
        match (ty.mixed, value) {
            (Some(_), _) => by_tag(ty)
                .into_iter()
                .try_for_each(|(tag, field)| self.mixed(tag, field, value, depth, out)),
            (None, Value::Map(map)) => self.fields(id, map, depth, out),
            (None, _) => Err(mismatch(value, "map")),
        }
    }

    fn field(
        &self,
        tag: u32,
        field: &Field,
        parent: &Map,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let value = parent.get(&field.name).filter(|value| !value.is_null());
        match (&field.shape, value) {
            (Shape::Message(id), _) if field.inline => {
                writer::message(tag, out, |out| self.fields(*id, parent, depth + 1, out))
            }
            (Shape::List(_), Some(Value::List(items))) if field.wrapped => wrapped(tag, items, out),
            (Shape::List(inner), Some(Value::List(items))) => {
                items.iter().try_for_each(|item| self.element(tag, inner, item, depth, out))
            }
            (Shape::Map(inner), Some(Value::Map(map))) => {
                map.iter().try_for_each(|(key, item)| self.entry(tag, inner, key, item, depth, out))
            }
            (Shape::List(_), Some(value)) => Err(mismatch(value, "list")),
            (Shape::Map(_), Some(value)) => Err(mismatch(value, "map")),
            (shape, Some(value)) => self.element(tag, shape, value, depth, out),
            (Shape::List(_) | Shape::Map(_), None) => Ok(()),
            (_, None) if field.pointer => Ok(()),
            (Shape::Scalar(kind), None) => scalar::write_zero(*kind, tag, out),
            (Shape::Message(id), None) => {
                writer::message(tag, out, |out| self.fields(*id, &Map::new(), depth + 1, out))
            }
        }
    }

    /// The fields of a message whose JSON form is `map`, or is part of it.
    fn fields(&self, id: TypeId, map: &Map, depth: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.into());
        }
        let ty = self.graph.ty(id);
        for (tag, field) in by_tag(ty) {
            self.field(tag, field, map, depth, out)
                .map_err(|error| error.within(&ty.name, &field.name))?;
        }
        Ok(())
    }

    /// A field of a message with a JSON form of its own: the alternative that the value is. A
    /// schema also has the boolean of `SchemaOrBool` set.
    fn mixed(
        &self,
        tag: u32,
        field: &Field,
        value: &Value,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match (&field.shape, value) {
            (Shape::Message(id), Value::Map(_)) => {
                writer::message(tag, out, |out| self.content(*id, value, depth + 1, out))
            }
            (Shape::List(inner), Value::List(items)) => {
                items.iter().try_for_each(|item| self.element(tag, inner, item, depth, out))
            }
            (Shape::Scalar(kind), Value::Bool(_)) => scalar::write(*kind, tag, value, out),
            (Shape::Scalar(kind), Value::Map(_)) => {
                scalar::write(*kind, tag, &Value::Bool(true), out)
            }
            _ => Ok(()),
        }
    }

    /// A single value, a list element or a map value.
    fn element(
        &self,
        tag: u32,
        shape: &Shape,
        value: &Value,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        match (shape, value) {
            (Shape::Scalar(kind), _) => scalar::write(*kind, tag, value, out),
            (Shape::Message(id), _) => {
                writer::message(tag, out, |out| self.content(*id, value, depth + 1, out))
            }
            (Shape::List(_), Value::List(items)) => wrapped(tag, items, out),
            _ => Err(mismatch(value, "list")),
        }
    }

    fn entry(
        &self,
        tag: u32,
        shape: &Shape,
        key: &str,
        value: &Value,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        writer::message(tag, out, |out| {
            writer::bytes(ENTRY_KEY, key.as_bytes(), out);
            self.element(ENTRY_VALUE, shape, value, depth, out)
        })
    }
}

/// A message around a list of strings.
fn wrapped(tag: u32, items: &[Value], out: &mut Vec<u8>) -> Result<(), Error> {
    writer::message(tag, out, |out| {
        items.iter().try_for_each(|item| scalar::write(Scalar::String, WRAPPED_ITEMS, item, out))
    })
}

/// The fields that have a number, in the order of their numbers.
pub(super) fn by_tag(ty: &TypeDef) -> Vec<(u32, &Field)> {
    let mut fields: Vec<_> =
        ty.fields.iter().filter_map(|field| Some((field.tag?, &**field))).collect();
    fields.sort_by_key(|(tag, _)| *tag);
    fields
}

fn mismatch(value: &Value, expected: &str) -> Error {
    Problem::Value(format!("{} instead of a {expected}", value.type_name())).into()
}
