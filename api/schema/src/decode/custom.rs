//! Values of custom resources on their way in: `null`, defaults, and the metadata of the object and of embedded ones.
//!
//! A `null` that the schema does not allow means that nothing is given: it is dropped from objects and maps, and replaced by
//! the default where there is one; in lists it stays and is refused later. Types of all other values are not checked here but
//! by `structural`, whose findings are told one by one. Only metadata has a canonical form.

use quorate_meta::{Cause, Map, Path, Value};

use super::canonical::{canonicalize, zero};
use super::check::{DecodeError, check_message};
use crate::graph::{ElementDef, Field, Graph, Shape, TypeDef};
use crate::path::FieldPath;

/// Bytes that defaults add to an object at most: with more of them it is larger than any that can be stored. A short object can
/// have very many places for a long default.
pub const MAX_DEFAULT_BYTES: usize = 8 << 20;

/// What happens to defaults in one object.
#[derive(Debug)]
pub(crate) struct Defaults {
    /// Whether they are filled in where fields are absent. In the place of a `null` they are in any case.
    absent: bool,
    /// Bytes that there is room for.
    room: usize,
}

impl Defaults {
    /// Fields that are absent stay so.
    pub(crate) fn left() -> Self {
        Self { absent: false, room: MAX_DEFAULT_BYTES }
    }

    /// They are filled in where the schema has some.
    pub(crate) fn filled() -> Self {
        Self { absent: true, room: MAX_DEFAULT_BYTES }
    }

    /// A default to fill in, while there is room.
    fn fill(&mut self, default: &Value) -> Option<Value> {
        let left = self.room.checked_sub(bytes_of(default));
        self.room = left.unwrap_or_default();
        left.map(|_| default.clone())
    }
}

/// About what a value takes as text, and at least something.
fn bytes_of(value: &Value) -> usize {
    const EACH: usize = 8;
    match value {
        Value::String(text) => EACH + text.len(),
        Value::List(items) => EACH + items.iter().map(bytes_of).sum::<usize>(),
        Value::Map(map) => {
            EACH + map.iter().map(|(name, value)| name.len() + bytes_of(value)).sum::<usize>()
        }
        _ => EACH,
    }
}

/// Settles the fields of an object of a custom resource, at every depth. Defaults are filled into what is settled but for them:
/// then there is nothing to do where there are none.
pub(crate) fn settle(graph: &Graph, ty: &TypeDef, map: &mut Map, defaults: &mut Defaults) {
    if defaults.absent {
        if !ty.fills {
            return;
        }
        for field in &ty.properties {
            let Some(default) = &field.default else {
                continue;
            };
            if map.get(&field.name).is_none_or(|value| value.is_null() && !field.nullable)
                && let Some(default) = defaults.fill(default)
            {
                map.insert(field.name.as_ref(), default);
            }
        }
    }
    map.retain(|name, value| match ty.property(name) {
        Some(field) if value.is_null() => field.nullable,
        Some(field) => {
            part(graph, &field.shape, &field.elements, value, defaults);
            true
        }
        None => true,
    });
    for field in ty.properties.iter().filter(|field| field.always) {
        if let (Shape::Message(id), false) = (&field.shape, map.contains_key(&field.name)) {
            map.insert(field.name.as_ref(), zero(graph, *id));
        }
    }
}

fn part(
    graph: &Graph,
    shape: &Shape,
    elements: &[ElementDef],
    value: &mut Value,
    defaults: &mut Defaults,
) {
    let (element, rest) =
        elements.split_first().map_or((None, elements), |(first, rest)| (Some(first), rest));
    let default = element.and_then(|element| element.default.as_ref());
    match (shape, value) {
        (Shape::Message(id), Value::Map(map)) if graph.ty(*id).custom.is_some() => {
            settle(graph, graph.ty(*id), map, defaults);
        }
        (Shape::Message(id), value) if !defaults.absent => canonicalize(graph, *id, value),
        (Shape::List(inner), Value::List(items)) => {
            for item in items {
                if item.is_null() && !is_nullable(element) {
                    let filled = default.and_then(|default| defaults.fill(default));
                    filled.into_iter().for_each(|filled| *item = filled);
                }
                part(graph, inner, rest, item, defaults);
            }
        }
        (Shape::Map(inner), Value::Map(map)) => map.retain(|_, item| {
            if item.is_null() && !is_nullable(element) {
                let filled = default.and_then(|default| defaults.fill(default));
                let Some(filled) = filled else { return false };
                *item = filled;
            }
            part(graph, inner, rest, item, defaults);
            true
        }),
        _ => {}
    }
}

fn is_nullable(element: Option<&ElementDef>) -> bool {
    element.is_some_and(|element| element.nullable)
}

/// Checks what is fatal in a body at every level: `apiVersion`, `kind` and `metadata` of the object and of embedded ones.
pub(super) fn check(graph: &Graph, ty: &TypeDef, value: &Value) -> Result<(), DecodeError> {
    let Value::Map(map) = value else {
        let message = format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            value.type_name()
        );
        return Err(DecodeError(message));
    };
    let mut walk = MetadataCheck { graph, path: FieldPath::default() };
    walk.message(ty, map)
}

/// The same for a part of an object, such as a default.
pub(crate) fn check_part(graph: &Graph, shape: &Shape, value: &Value) -> Result<(), DecodeError> {
    MetadataCheck { graph, path: FieldPath::default() }.part(shape, value)
}

struct MetadataCheck<'g> {
    graph: &'g Graph,
    path: FieldPath,
}

impl<'g> MetadataCheck<'g> {
    fn message(&mut self, ty: &'g TypeDef, map: &Map) -> Result<(), DecodeError> {
        let embeds = ty.property("metadata").and_then(|field| self.metadata(field));
        let is_root = self.path.as_str().is_empty();
        for (name, value) in map.iter() {
            let Some(field) = ty.property(name) else {
                continue;
            };
            // The metadata itself is of a built-in type.
            let is_said = embeds.is_some() && matches!(name, "apiVersion" | "kind" | "metadata");
            if !is_said && !self.has_objects(&field.shape) {
                continue;
            }
            let mark = self.path.push_key(name);
            match (embeds, name) {
                (Some(_), "apiVersion" | "kind")
                    if value.as_str().is_none() && !value.is_null() =>
                {
                    return Err(self.fault(value, "must be a string"));
                }
                (Some(metadata), "metadata") if !value.is_null() => {
                    let checked = check_message(self.graph, metadata, value);
                    checked.map_err(|error| {
                        if is_root { error } else { self.fault(value, &error.to_string()) }
                    })?;
                }
                _ => self.part(&field.shape, value)?,
            }
            self.path.truncate(mark);
        }
        Ok(())
    }

    fn has_objects(&self, shape: &Shape) -> bool {
        shape.message().is_some_and(|id| self.graph.ty(id).has_objects)
    }

    /// The built-in type of the field, when it is the metadata of an object.
    fn metadata(&self, field: &Field) -> Option<&'g TypeDef> {
        match field.shape {
            Shape::Message(id) => Some(self.graph.ty(id)).filter(|ty| ty.custom.is_none()),
            _ => None,
        }
    }

    fn part(&mut self, shape: &'g Shape, value: &Value) -> Result<(), DecodeError> {
        let Some(id) = shape.message() else {
            return Ok(());
        };
        match (shape, value) {
            (Shape::Message(_), Value::Map(map)) => self.message(self.graph.ty(id), map),
            (Shape::List(inner), Value::List(items)) => {
                items.iter().enumerate().try_for_each(|(index, item)| {
                    let mark = self.path.push_index(index);
                    self.part(inner, item)?;
                    self.path.truncate(mark);
                    Ok(())
                })
            }
            (Shape::Map(inner), Value::Map(map)) => map.iter().try_for_each(|(key, item)| {
                let mark = self.path.push_index_key(key);
                self.part(inner, item)?;
                self.path.truncate(mark);
                Ok(())
            }),
            _ => Ok(()),
        }
    }

    fn fault(&self, value: &Value, why: &str) -> DecodeError {
        DecodeError(
            Cause::invalid(Path::new(self.path.as_str().to_owned()), value.clone(), why).text(),
        )
    }
}
