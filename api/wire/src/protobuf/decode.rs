//! The protobuf decoder: messages to values in canonical form.
//!
//! Accepted as protobuf demands: fields in any order, messages in several parts, packed lists of
//! numbers, unknown fields. Quantities are text; their syntax is checked with all other types
//! (`quorate_schema::decode`).

use quorate_meta::{SmolStr, Value};
use quorate_schema::{Field, Graph, Scalar, Shape, TypeId, canonicalize};

use super::partial::{Partial, Slot};
use super::reader::{Payload, ProtobufReader};
use super::{Envelope, Error, MAX_BYTES, MAX_DEPTH, Problem, scalar};

/// Number of the one field of a message around a list.
pub(super) const WRAPPED_ITEMS: u32 = 1;
/// Number of the key in a map entry.
pub(super) const ENTRY_KEY: u32 = 1;
/// Number of the value in a map entry.
pub(super) const ENTRY_VALUE: u32 = 2;

/// Reads a body with its envelope as an object of type `ty`, in canonical form. apiVersion and kind
/// are the envelope's, as they stand there; empty ones are left out.
///
/// # Errors
/// The first malformed part.
pub fn decode(graph: &Graph, ty: TypeId, body: &[u8]) -> Result<Value, Error> {
    let envelope = Envelope::read(body)?;
    let mut object = decode_message(graph, ty, envelope.raw)?;
    for (name, text) in [("apiVersion", envelope.api_version), ("kind", envelope.kind)] {
        if !text.is_empty() {
            object.set_at(&[name], text);
        }
    }
    Ok(object)
}

/// Reads a message of type `ty`, in canonical form, without apiVersion and kind.
///
/// # Errors
/// The first malformed part.
pub fn decode_message(graph: &Graph, ty: TypeId, message: &[u8]) -> Result<Value, Error> {
    if message.len() > MAX_BYTES {
        return Err(Problem::TooLarge.into());
    }
    let mut partial = Partial::new(graph.ty(ty));
    Decoder { graph }.merge(&mut partial, message, 1)?;
    let mut value = partial.finish();
    canonicalize(graph, ty, &mut value);
    // Lists, maps and free JSON add levels of their own, and the value must be writable as JSON
    // that can be read.
    if is_within(&value, MAX_DEPTH) { Ok(value) } else { Err(Problem::TooDeep.into()) }
}

struct Decoder<'g> {
    graph: &'g Graph,
}

impl<'g> Decoder<'g> {
    fn merge(&self, partial: &mut Partial<'g>, message: &[u8], depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.into());
        }
        let ty = partial.ty;
        let mut reader = ProtobufReader::new(message);
        while let Some((tag, payload)) = reader.field()? {
            if let Some((field, slot)) = partial.slot(self.graph, tag) {
                self.field(field, slot, payload, depth)
                    .map_err(|error| error.within(&ty.name, &field.name))?;
            }
        }
        Ok(())
    }

    fn field(
        &self,
        field: &Field,
        slot: &mut Slot<'g>,
        payload: Payload<'_>,
        depth: usize,
    ) -> Result<(), Error> {
        match (slot, &field.shape) {
            (Slot::Value(value), Shape::Scalar(kind)) => *value = scalar::read(*kind, payload)?,
            (Slot::Message(partial), _) => self.merge(partial, payload.bytes()?, depth + 1)?,
            (Slot::List(items), _) if field.wrapped => wrapped(payload, items)?,
            (Slot::List(items), Shape::List(inner)) => match (&**inner, payload) {
                (Shape::Scalar(kind @ (Scalar::Int32 | Scalar::Int64)), Payload::Bytes(packed)) => {
                    let mut packed = ProtobufReader::new(packed);
                    while let Some(number) = packed.packed()? {
                        items.push(scalar::read(*kind, Payload::Varint(number))?);
                    }
                }
                (inner, payload) => items.push(self.element(inner, payload, depth)?),
            },
            (Slot::Entries(entries), Shape::Map(inner)) => {
                entries.push(self.entry(inner, payload, depth)?)
            }
            _ => return Err(Problem::WireType.into()),
        }
        Ok(())
    }

    /// A list element or map value.
    fn element(&self, shape: &Shape, payload: Payload<'_>, depth: usize) -> Result<Value, Error> {
        match shape {
            Shape::Scalar(kind) => Ok(scalar::read(*kind, payload)?),
            Shape::Message(id) => {
                let mut partial = Partial::new(self.graph.ty(*id));
                self.merge(&mut partial, payload.bytes()?, depth + 1)?;
                Ok(partial.finish())
            }
            // A list within a map or list is always wrapped.
            Shape::List(_) => {
                let mut items = Vec::new();
                wrapped(payload, &mut items)?;
                Ok(Value::List(items))
            }
            Shape::Map(_) => Err(Problem::WireType.into()),
        }
    }

    fn entry(
        &self,
        shape: &Shape,
        payload: Payload<'_>,
        depth: usize,
    ) -> Result<(SmolStr, Value), Error> {
        let mut key = "";
        let mut value =
            if matches!(shape, Shape::List(_)) { Value::List(Vec::new()) } else { Value::Null };
        let mut reader = ProtobufReader::new(payload.bytes()?);
        while let Some((tag, payload)) = reader.field()? {
            match tag {
                ENTRY_KEY => key = payload.text()?,
                ENTRY_VALUE => value = self.element(shape, payload, depth)?,
                _ => {}
            }
        }
        Ok((key.into(), value))
    }
}

/// Appends the strings of a message around a list.
fn wrapped(payload: Payload<'_>, items: &mut Vec<Value>) -> Result<(), Error> {
    let mut reader = ProtobufReader::new(payload.bytes()?);
    while let Some((tag, payload)) = reader.field()? {
        if tag == WRAPPED_ITEMS {
            items.push(Value::from(payload.text()?));
        }
    }
    Ok(())
}

/// Whether lists and maps are nested in at most `levels` levels.
fn is_within(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::List(items), Some(left)) => items.iter().all(|item| is_within(item, left)),
        (Value::Map(map), Some(left)) => map.values().all(|item| is_within(item, left)),
        (Value::List(_) | Value::Map(_), None) => false,
        _ => true,
    }
}
