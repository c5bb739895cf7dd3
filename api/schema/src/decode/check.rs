//! The type check of a decoded object.
//!
//! Unknown fields are ignored; `null` fits every type.

use quorate_meta::{Map, Value};

use super::{custom, scalar};
use crate::graph::{Field, Graph, Mixed, Scalar, Shape, TypeDef, TypeId};

/// A value of a wrong type; the text follows "cannot be handled as a ...: " in messages of
/// Kubernetes 1.35.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub(super) String);

impl DecodeError {
    /// The message of the Status, with kind and version.
    pub fn for_kind(&self, kind: &str, api_version: &str) -> String {
        let version = api_version.rsplit('/').next().unwrap_or(api_version);
        format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {self}")
    }
}

/// Checks `value` against type `ty`.
///
/// # Errors
/// The first value, in key order, that does not fit.
pub fn check_types(graph: &Graph, ty: TypeId, value: &Value) -> Result<(), DecodeError> {
    let ty = graph.ty(ty);
    if ty.custom.is_some() {
        return custom::check(graph, ty, value);
    }
    check_message(graph, ty, value)
}

/// Checks `value` against a built-in message, from which on messages name the place.
pub(super) fn check_message(graph: &Graph, ty: &TypeDef, value: &Value) -> Result<(), DecodeError> {
    let Value::Map(map) = value else {
        let message = format!(
            "json: cannot unmarshal {} into Go value of type {}",
            word(value),
            type_name(ty)
        );
        return Err(DecodeError(message));
    };
    let mut checker = DecodeChecker { graph, owner: ty, path: Vec::new() };
    checker.message(ty, map)
}

/// The state of the walk: the message type and the field names up to here.
struct DecodeChecker<'g> {
    graph: &'g Graph,
    owner: &'g TypeDef,
    path: Vec<&'g str>,
}

impl<'g> DecodeChecker<'g> {
    fn message(&mut self, ty: &'g TypeDef, map: &Map) -> Result<(), DecodeError> {
        let outer = std::mem::replace(&mut self.owner, ty);
        for (name, value) in map.iter() {
            if let Some(field) = ty.property(name) {
                self.path.push(field.name.as_ref());
                self.field(field, value)?;
                self.path.pop();
            }
        }
        self.owner = outer;
        Ok(())
    }

    fn field(&mut self, field: &'g Field, value: &Value) -> Result<(), DecodeError> {
        self.shape(&field.shape, value)
    }

    fn shape(&mut self, shape: &'g Shape, value: &Value) -> Result<(), DecodeError> {
        match (shape, value) {
            (_, Value::Null) => Ok(()),
            (Shape::Scalar(scalar), _) => self.scalar(*scalar, shape, value),
            (Shape::Message(id), _) if self.graph.ty(*id).mixed.is_some() => {
                self.mixed(self.graph.ty(*id), value)
            }
            (Shape::Message(id), Value::Map(map)) => self.message(self.graph.ty(*id), map),
            (Shape::List(inner), Value::List(items)) => {
                items.iter().try_for_each(|item| self.shape(inner, item))
            }
            (Shape::Map(inner), Value::Map(map)) => {
                map.values().try_for_each(|item| self.shape(inner, item))
            }
            _ => Err(self.mismatch(word(value), shape)),
        }
    }

    fn scalar(&self, scalar: Scalar, shape: &Shape, value: &Value) -> Result<(), DecodeError> {
        let fits = match (scalar, value) {
            (Scalar::Any, _)
            | (Scalar::Bool, Value::Bool(_))
            | (Scalar::String | Scalar::IntOrString, Value::String(_))
            | (Scalar::Int64, Value::Int(_))
            | (
                Scalar::Quantity | Scalar::Double,
                Value::Int(_) | Value::UInt(_) | Value::Float(_),
            ) => true,
            (Scalar::Int32 | Scalar::IntOrString, Value::Int(number)) => {
                i32::try_from(*number).is_ok()
            }
            (Scalar::Bytes, Value::String(text)) => {
                return scalar::check_base64(text).map_err(DecodeError);
            }
            (Scalar::Time, Value::String(text)) => {
                return scalar::check_time(text, scalar::SECONDS).map_err(DecodeError);
            }
            (Scalar::MicroTime, Value::String(text)) => {
                return scalar::check_time(text, scalar::MICROS).map_err(DecodeError);
            }
            (Scalar::Quantity, Value::String(text)) => {
                return scalar::check_quantity(text).map_err(DecodeError);
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_));
        Err(match scalar {
            Scalar::Time | Scalar::MicroTime => DecodeError(format!(
                "json: cannot unmarshal {} into Go value of type string",
                word(value)
            )),
            Scalar::Quantity => DecodeError(scalar::BAD_QUANTITY.to_owned()),
            Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString if number => {
                self.mismatch(&format!("number {}", scalar::number_text(value)), shape)
            }
            _ => self.mismatch(word(value), shape),
        })
    }

    fn mixed(&mut self, ty: &'g TypeDef, value: &Value) -> Result<(), DecodeError> {
        let schema = ty.fields.iter().find_map(|field| match field.shape {
            Shape::Message(id) => Some(self.graph.ty(id)),
            _ => None,
        });
        match (ty.mixed, schema, value) {
            (_, Some(schema), Value::Map(map)) => self.message(schema, map),
            (Some(Mixed::SchemaOrList), Some(schema), Value::List(items)) => {
                items.iter().try_for_each(|item| match item {
                    Value::Map(map) => self.message(schema, map),
                    _ => Err(self.mismatch(word(item), &Shape::Message(schema.id))),
                })
            }
            (Some(Mixed::SchemaOrStrings), _, Value::List(items))
                if items.iter().all(|item| item.as_str().is_some()) =>
            {
                Ok(())
            }
            (Some(Mixed::SchemaOrBool), _, Value::Bool(_)) => Ok(()),
            _ => Err(self.mismatch(word(value), &Shape::Message(ty.id))),
        }
    }

    fn mismatch(&self, found: &str, shape: &Shape) -> DecodeError {
        let (owner, path) = (&self.owner.name, self.path.join("."));
        let expected = shape_name(self.graph, shape);
        DecodeError(format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {expected}"
        ))
    }
}

fn type_name(ty: &TypeDef) -> String {
    format!("{}.{}", ty.version, ty.name)
}

fn shape_name(graph: &Graph, shape: &Shape) -> String {
    match shape {
        Shape::Message(id) => type_name(graph.ty(*id)),
        Shape::List(inner) => format!("[]{}", shape_name(graph, inner)),
        Shape::Map(inner) => format!("map[string]{}", shape_name(graph, inner)),
        Shape::Scalar(scalar) => scalar::type_name(*scalar).to_owned(),
    }
}

/// The name of a JSON type in messages.
fn word(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        _ => value.type_name(),
    }
}
