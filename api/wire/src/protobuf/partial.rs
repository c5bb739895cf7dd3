//! A partially decoded message: the values of each field so far, so that repeated fields are
//! merged.
//!
//! Only present fields take memory. Entries of maps are collected and sorted once at the end.

use std::sync::Arc;

use quorate_meta::{Map, SmolStr, Value};
use quorate_schema::{Field, Graph, Mixed, Shape, TypeDef};

/// The decoded fields of a message.
pub(super) struct Partial<'g> {
    pub(super) ty: &'g TypeDef,
    seen: Vec<(usize, Slot<'g>)>,
}

/// The decoded value of a field.
pub(super) enum Slot<'g> {
    /// A scalar; the last one wins.
    Value(Value),
    /// A message; later ones add to it.
    Message(Partial<'g>),
    /// A list so far.
    List(Vec<Value>),
    /// A map so far; of equal keys the last one wins.
    Entries(Vec<(SmolStr, Value)>),
}

impl<'g> Partial<'g> {
    pub(super) fn new(ty: &'g TypeDef) -> Self {
        Self { ty, seen: Vec::new() }
    }

    /// The field with a protobuf number and its decoded value; `None` when the type has no such
    /// field.
    pub(super) fn slot(
        &mut self,
        graph: &'g Graph,
        tag: u32,
    ) -> Option<(&'g Arc<Field>, &mut Slot<'g>)> {
        let at = self.ty.fields.iter().position(|field| field.tag == Some(tag))?;
        let field = &self.ty.fields[at];
        let known = self.seen.iter().rposition(|(seen, _)| *seen == at).unwrap_or_else(|| {
            self.seen.push((at, Slot::empty(graph, &field.shape)));
            self.seen.len() - 1
        });
        Some((field, &mut self.seen[known].1))
    }

    /// The message in its JSON form, zero values included.
    pub(super) fn finish(self) -> Value {
        match self.ty.mixed {
            Some(mixed) => self.finish_mixed(mixed),
            None => {
                let mut entries = Vec::with_capacity(self.seen.len());
                self.collect(&mut entries);
                Value::Map(Map::from_entries(entries).0)
            }
        }
    }

    fn collect(self, entries: &mut Vec<(SmolStr, Value)>) {
        for (at, slot) in self.seen {
            let field = &self.ty.fields[at];
            match slot {
                Slot::Message(inner) if field.inline => inner.collect(entries),
                slot => entries.push((field.name.as_ref().into(), slot.finish())),
            }
        }
    }

    /// A schema or its alternative: a list that is not empty comes first, then the schema, then the
    /// boolean.
    fn finish_mixed(self, mixed: Mixed) -> Value {
        let (mut schema, mut list, mut allowed) = (None, Value::Null, false);
        for (_, slot) in self.seen {
            match slot {
                Slot::Message(inner) => schema = Some(inner.finish()),
                Slot::List(items) => list = Value::List(items),
                Slot::Value(value) => allowed = value == Value::Bool(true),
                Slot::Entries(_) => {}
            }
        }
        match (mixed, schema) {
            (Mixed::SchemaOrBool, None) => Value::Bool(allowed),
            (Mixed::SchemaOrList | Mixed::SchemaOrStrings, schema) if list.is_null() => {
                schema.unwrap_or_default()
            }
            (Mixed::SchemaOrList | Mixed::SchemaOrStrings, _) => list,
            (Mixed::SchemaOrBool, Some(schema)) => schema,
        }
    }
}

impl<'g> Slot<'g> {
    fn empty(graph: &'g Graph, shape: &Shape) -> Self {
        match shape {
            Shape::Scalar(_) => Self::Value(Value::Null),
            Shape::Message(id) => Self::Message(Partial::new(graph.ty(*id))),
            Shape::List(_) => Self::List(Vec::new()),
            Shape::Map(_) => Self::Entries(Vec::new()),
        }
    }

    fn finish(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Message(partial) => partial.finish(),
            Self::List(items) => Value::List(items),
            Self::Entries(entries) => Value::Map(Map::from_entries(entries).0),
        }
    }
}
