//! The canonical form: an object after one pass through its typed form.
//!
//! A field with `always` has its zero value when it is absent (`""`, `0`, `{}` for messages, `null`
//! for lists, maps, pointers and times). The zero value of all other fields is omitted; of pointers
//! only `null` is. Values of custom
//! resources do not change, but for their metadata and for a `null` without a meaning.

use quorate_meta::{Map, Quantity, Value};

use super::custom::{self, Defaults};
use super::scalar;
use crate::graph::{Field, Graph, Scalar, Shape, TypeDef, TypeId};

/// Converts a value whose types are right into canonical form.
pub fn canonicalize(graph: &Graph, ty: TypeId, value: &mut Value) {
    if let Value::Map(map) = value {
        message(graph, graph.ty(ty), map);
    }
}

/// The empty object of type `ty` in canonical form, with which a create is compared.
pub fn zero(graph: &Graph, ty: TypeId) -> Value {
    let mut value = Value::Map(Map::new());
    canonicalize(graph, ty, &mut value);
    value
}

/// Whether `value` is the zero value of a field of this shape.
pub fn is_zero(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (_, Value::Null) => true,
        (Shape::Scalar(Scalar::Any), _) => false,
        (Shape::Scalar(Scalar::Quantity | Scalar::IntOrString), Value::String(text)) => text == "0",
        (_, Value::Bool(value)) => !value,
        (_, Value::Int(value)) => *value == 0,
        (_, Value::UInt(value)) => *value == 0,
        (_, Value::Float(value)) => *value == 0.0,
        (_, value) => value.is_empty(),
    }
}

fn message(graph: &Graph, ty: &TypeDef, map: &mut Map) {
    if ty.custom.is_some() {
        return custom::settle(graph, ty, map, &mut Defaults::left());
    }
    map.retain(|name, value| ty.property(name).is_none_or(|field| keep(graph, field, value)));
    for field in &ty.properties {
        if field.always && !map.contains_key(&field.name) {
            map.insert(field.name.as_ref(), zero_of(graph, field));
        }
    }
}

/// Converts the value of a field into canonical form; `false` when it is omitted.
fn keep(graph: &Graph, field: &Field, value: &mut Value) -> bool {
    if value.is_null() {
        return false;
    }
    shape(graph, &field.shape, value);
    field.always || field.pointer || !is_zero(&field.shape, value)
}

fn shape(graph: &Graph, form: &Shape, value: &mut Value) {
    if value.is_null() {
        *value = zero_element(graph, form);
        return;
    }
    match (form, value) {
        (Shape::Scalar(kind), value) => canonical_scalar(*kind, value),
        (Shape::Message(id), value) if graph.ty(*id).mixed.is_some() => {
            mixed(graph, graph.ty(*id), value)
        }
        (Shape::Message(id), Value::Map(map)) => message(graph, graph.ty(*id), map),
        (Shape::List(inner), Value::List(items)) => {
            items.iter_mut().for_each(|item| shape(graph, inner, item))
        }
        (Shape::Map(inner), Value::Map(map)) if **inner == Shape::Scalar(Scalar::Quantity) => {
            amounts(map)
        }
        (Shape::Map(inner), Value::Map(map)) => {
            map.values_mut().for_each(|item| shape(graph, inner, item))
        }
        _ => {}
    }
}

/// Rounds quantities by resource name up to thousandths.
fn amounts(map: &mut Map) {
    for value in map.values_mut() {
        let text = match &*value {
            Value::String(text) => Quantity::canonical_in_milli(text),
            Value::Null => Some("0".to_owned()),
            number => Quantity::canonical_in_milli(&scalar::number_text(number)),
        };
        if let Some(text) = text {
            *value = Value::String(text);
        }
    }
}

fn mixed(graph: &Graph, ty: &TypeDef, value: &mut Value) {
    let Some(id) = ty.fields.iter().find_map(|field| field.shape.message()) else {
        return;
    };
    match value {
        Value::Map(map) => message(graph, graph.ty(id), map),
        Value::List(items) => {
            for map in items.iter_mut().filter_map(Value::as_map_mut) {
                message(graph, graph.ty(id), map);
            }
        }
        _ => {}
    }
}

fn canonical_scalar(kind: Scalar, value: &mut Value) {
    let text = match (kind, &*value) {
        (Scalar::Time, Value::String(text)) => scalar::canonical_time(text, false),
        (Scalar::MicroTime, Value::String(text)) => scalar::canonical_time(text, true),
        (Scalar::Bytes, Value::String(text)) if text.contains(['\r', '\n']) => {
            Some(text.replace(['\r', '\n'], ""))
        }
        (Scalar::Quantity, Value::String(text)) => Quantity::canonical(text),
        (Scalar::Quantity, Value::Int(_) | Value::UInt(_) | Value::Float(_)) => {
            Quantity::canonical(&scalar::number_text(value))
        }
        _ => None,
    };
    if let Some(text) = text {
        *value = Value::String(text);
    }
}

/// The zero value of a field with `always`.
pub(crate) fn zero_of(graph: &Graph, field: &Field) -> Value {
    match field.shape {
        _ if field.pointer => Value::Null,
        Shape::List(_)
        | Shape::Map(_)
        | Shape::Scalar(Scalar::Time | Scalar::MicroTime | Scalar::Any | Scalar::Bytes) => {
            Value::Null
        }
        _ => zero_element(graph, &field.shape),
    }
}

/// The zero value of a list element or map value that is `null`.
fn zero_element(graph: &Graph, form: &Shape) -> Value {
    match form {
        Shape::Message(id) => zero(graph, *id),
        Shape::Scalar(Scalar::Bool) => Value::Bool(false),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::IntOrString) => {
            Value::Int(0)
        }
        Shape::Scalar(Scalar::String | Scalar::Bytes) => Value::from(""),
        Shape::Scalar(Scalar::Quantity) => Value::from("0"),
        Shape::Scalar(Scalar::Time | Scalar::MicroTime | Scalar::Any)
        | Shape::List(_)
        | Shape::Map(_) => Value::Null,
    }
}
