//! Test objects: made valid for apply, and split into two without a common field.

use std::collections::BTreeSet;

use quorate_meta::{Map, Value};
use quorate_schema::{Field, Graph, ListKind, MapKind, Scalar, Shape, TypeId};

use crate::random::Random;

/// Makes the keys of keyed list elements distinct, and removes duplicates from sets.
pub(crate) fn fit(graph: &Graph, ty: TypeId, object: &mut Value) {
    for field in &graph.ty(ty).properties {
        if let Some(value) = object.get_mut(&field.name) {
            fit_shape(graph, &field.shape, value);
            fit_list(graph, field, value);
        }
    }
}

fn fit_shape(graph: &Graph, shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Message(id), value) => fit(graph, *id, value),
        (Shape::List(inner), Value::List(list)) => {
            list.iter_mut().for_each(|value| fit_shape(graph, inner, value))
        }
        (Shape::Map(inner), Value::Map(map)) => {
            map.values_mut().for_each(|value| fit_shape(graph, inner, value))
        }
        _ => {}
    }
}

fn fit_list(graph: &Graph, field: &Field, value: &mut Value) {
    let (Shape::List(inner), Value::List(list)) = (&field.shape, value) else {
        return;
    };
    let keys = match &field.list {
        Some(ListKind::Map(keys)) => &keys[..],
        _ => &[],
    };
    if let Some(id) = inner.message() {
        for (number, element) in list.iter_mut().enumerate() {
            for key in keys.iter().chain(&field.patch.key) {
                set_key(graph, id, element, key, number);
            }
        }
    } else if field.list == Some(ListKind::Set) || field.patch.merge {
        let mut seen = BTreeSet::new();
        list.retain(|value| seen.insert(format!("{value:?}")));
    }
}

fn set_key(graph: &Graph, ty: TypeId, element: &mut Value, key: &str, number: usize) {
    let Some(field) = graph.property(ty, key) else {
        return;
    };
    let value = match &field.shape {
        Shape::Scalar(Scalar::String) if field.allowed.is_empty() => {
            Value::from(format!("k{number}"))
        }
        Shape::Scalar(Scalar::String) => Value::from(field.allowed[0].as_ref()),
        Shape::Scalar(Scalar::Int32 | Scalar::Int64) => {
            Value::from(i64::try_from(number).unwrap_or_default() + 1)
        }
        _ => return,
    };
    element.set_at(&[key], value);
}

/// Splits an object: every field is in one half, except for keys of elements that both halves have.
/// A field whose default has parts is in neither, because the second apply adds to the parts of the
/// default and the first has none of them.
pub(crate) fn split(
    graph: &Graph,
    ty: TypeId,
    object: &Value,
    random: &mut Random<'_>,
) -> (Value, Value) {
    let mut halves = (Map::new(), Map::new());
    for (name, value) in object.as_map().into_iter().flat_map(Map::iter) {
        let parts = match graph.property(ty, name) {
            Some(field) if field.default.is_some() && !matches!(field.shape, Shape::Scalar(_)) => {
                continue;
            }
            Some(field) => split_field(graph, field, value, random),
            None => None,
        };
        place(&mut halves, name, value, parts, random);
    }
    (Value::Map(halves.0), Value::Map(halves.1))
}

/// Puts the parts of a value into the halves; a value without parts into one of them.
fn place(
    halves: &mut (Map, Map),
    name: &str,
    value: &Value,
    parts: Option<(Value, Value)>,
    random: &mut Random<'_>,
) {
    match parts {
        Some((one, other)) if !(one.is_empty() && other.is_empty()) => {
            for (half, part) in [(&mut halves.0, one), (&mut halves.1, other)] {
                if !part.is_empty() {
                    half.insert(name, part);
                }
            }
        }
        _ if random.coin() => drop(halves.0.insert(name, value.clone())),
        _ => drop(halves.1.insert(name, value.clone())),
    }
}

/// The parts of a value that may have different managers; `None` for an atomic value.
fn split_field(
    graph: &Graph,
    field: &Field,
    value: &Value,
    random: &mut Random<'_>,
) -> Option<(Value, Value)> {
    if field.map == Some(MapKind::Atomic) {
        return None;
    }
    match (&field.shape, value) {
        (Shape::Message(id), Value::Map(_)) => {
            let ty = graph.ty(*id);
            (!ty.atomic && ty.mixed.is_none()).then(|| split(graph, *id, value, random))
        }
        (Shape::Map(_), Value::Map(map)) => {
            let mut halves = (Map::new(), Map::new());
            map.iter().for_each(|(key, value)| place(&mut halves, key, value, None, random));
            Some((halves.0.into(), halves.1.into()))
        }
        (Shape::List(inner), Value::List(list)) => {
            let mut halves = (Vec::new(), Vec::new());
            for element in list {
                match (&field.list, inner.message()) {
                    (Some(ListKind::Map(keys)), Some(id))
                        if !graph.ty(id).atomic && random.coin() =>
                    {
                        let (mut one, mut other) = split(graph, id, element, random);
                        for key in keys {
                            if let Some(value) = element.get(key) {
                                one.set_at(&[key], value.clone());
                                other.set_at(&[key], value.clone());
                            }
                        }
                        halves.0.push(one);
                        halves.1.push(other);
                    }
                    (Some(ListKind::Map(_) | ListKind::Set), _) if random.coin() => {
                        halves.0.push(element.clone())
                    }
                    (Some(ListKind::Map(_) | ListKind::Set), _) => halves.1.push(element.clone()),
                    _ => return None,
                }
            }
            Some((Value::List(halves.0), Value::List(halves.1)))
        }
        _ => None,
    }
}
