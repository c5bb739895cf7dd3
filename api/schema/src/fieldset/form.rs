//! The merge structure of a value: the merge markers of the schema (`x-kubernetes-list-type`,
//! `x-kubernetes-map-type`) in one place.

use std::borrow::Cow;

use quorate_meta::Value;

use super::Element;
use crate::decode::zero_of;
use crate::graph::{Field, Graph, ListKind, MapKind, Shape, Text, TypeDef};

/// The parts of a value that can have managers of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'g> {
    /// None: atomic values, scalars, and JSON without a schema.
    Leaf,
    /// The properties of a message.
    Message(&'g TypeDef),
    /// The entries of a map.
    Map(&'g Shape),
    /// The values of a set.
    Set,
    /// The elements of a list with the map keys.
    Keyed(&'g Shape, &'g [Text]),
}

impl<'g> Form<'g> {
    pub(crate) fn of_field(graph: &'g Graph, field: &'g Field) -> Self {
        match (&field.shape, &field.list, field.map) {
            (_, _, Some(MapKind::Atomic)) => Self::Leaf,
            (Shape::List(inner), Some(ListKind::Map(keys)), _) => Self::Keyed(inner, keys),
            (Shape::List(_), Some(ListKind::Set), _) => Self::Set,
            (Shape::Message(id), _, Some(MapKind::Granular)) => Self::Message(graph.ty(*id)),
            (shape, _, _) => Self::of_shape(graph, shape),
        }
    }

    pub(crate) fn of_shape(graph: &'g Graph, shape: &'g Shape) -> Self {
        match shape {
            Shape::Scalar(_) | Shape::List(_) => Self::Leaf,
            Shape::Map(inner) => Self::Map(inner),
            Shape::Message(id) => match graph.ty(*id) {
                ty if ty.atomic || ty.mixed.is_some() => Self::Leaf,
                ty => Self::Message(ty),
            },
        }
    }

    /// The structure of the property or entry `key`.
    pub(crate) fn child(self, graph: &'g Graph, key: &str) -> Self {
        match self {
            Self::Message(ty) => ty.property(key).map_or(Self::Leaf, |field| Self::of_field(graph, field)),
            Self::Map(inner) | Self::Keyed(inner, _) => Self::of_shape(graph, inner),
            Self::Set | Self::Leaf => Self::Leaf,
        }
    }
}

/// The element of a keyed list. An absent key property has its default, or its zero value when it
/// has `always`; otherwise it is omitted.
pub(crate) fn keyed_element(graph: &Graph, inner: &Shape, keys: &[Text], item: &Value) -> Element {
    let value = |key: &Text| match item.get(key) {
        Some(value) if !value.is_null() => Some(Cow::Borrowed(value)),
        _ => implied(graph, graph.property(inner.message()?, key)?).map(Cow::Owned),
    };
    let mut pairs: Vec<(&str, Cow<'_, Value>)> =
        keys.iter().filter_map(|key| Some((key.as_ref(), value(key)?))).collect();
    pairs.sort_unstable_by_key(|(key, _)| *key);
    Element::of_pairs(pairs.iter().map(|(key, value)| (*key, &**value)))
}

/// The value that the schema implies for an absent property.
pub(crate) fn implied(graph: &Graph, field: &Field) -> Option<Value> {
    field.default.clone().or_else(|| field.always.then(|| zero_of(graph, field)))
}
