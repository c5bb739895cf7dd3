//! The check of an applied body against its type. The messages are those of Kubernetes 1.35.

use std::collections::HashSet;
use std::fmt;

use quorate_meta::{Map, Value};

use crate::fieldset::{Element, Form, implied, keyed_element};
use crate::graph::{Field, Graph, ListKind, Scalar, Shape, Text, TypeDef, TypeId, Unknowns};

/// Bytes of a value that a message shows, at most.
const EXCERPT_BYTES: usize = 64;

/// The path of an element that does not fit its type, innermost first, and the reason.
#[derive(Debug)]
pub(super) struct Fault {
    path: Vec<Element>,
    why: String,
}

impl Fault {
    fn new(why: impl Into<String>) -> Self {
        Self { path: Vec::new(), why: why.into() }
    }

    /// The same fault with one more enclosing element.
    fn below(mut self, element: impl FnOnce() -> Element) -> Self {
        self.path.push(element());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for element in self.path.iter().rev() {
            write!(f, "{element}")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// Checks a body against type `ty`.
pub(super) fn check(graph: &Graph, ty: TypeId, value: &Value) -> Result<(), Fault> {
    ApplyChecker { graph }.shape(&Shape::Message(ty), value)
}

struct ApplyChecker<'g> {
    graph: &'g Graph,
}

impl ApplyChecker<'_> {
    fn message(&self, ty: &TypeDef, map: &Map) -> Result<(), Fault> {
        for (key, value) in map.iter() {
            let checked = match ty.property(key) {
                Some(field) => self.field(field, value),
                None if ty.custom == Some(Unknowns::Kept) => Ok(()),
                None => Err(Fault::new("field not declared in schema")),
            };
            checked.map_err(|fault| fault.below(|| Element::field(key)))?;
        }
        Ok(())
    }

    fn field(&self, field: &Field, value: &Value) -> Result<(), Fault> {
        let (Shape::List(inner), Value::List(items)) = (&field.shape, value) else {
            return self.shape(&field.shape, value);
        };
        match Form::of_field(self.graph, field) {
            Form::Keyed(inner, keys, _) => self.keyed(inner, keys, items),
            Form::Set => self.set(inner, items),
            _ => match &field.list {
                // The rules for keyed lists also hold inside of an atomic value.
                Some(ListKind::Map(keys)) => self.keyed(inner, keys, items),
                Some(ListKind::Set) => self.set(inner, items),
                _ => self.items(inner, items),
            },
        }
    }

    fn keyed(&self, inner: &Shape, keys: &[Text], items: &[Value]) -> Result<(), Fault> {
        let mut seen = HashSet::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let Value::Map(map) = item else {
                let why = format!(
                    "element {index}: associative list with keys may not have non-map elements"
                );
                return Err(Fault::new(why));
            };
            if let Some(key) = self.missing_key(inner, keys, map) {
                return Err(Fault::new(format!(
                    "element {index}: associative list with keys has an element that omits key field {key:?} (and doesn't have default value)"
                )));
            }
            let element = keyed_element(self.graph, inner, keys, item);
            self.shape(inner, item).map_err(|fault| fault.below(|| element.clone()))?;
            unique(&mut seen, element)?;
        }
        Ok(())
    }

    /// The first key that an element neither has nor implies, when it has no key at all.
    fn missing_key<'k>(&self, inner: &Shape, keys: &'k [Text], item: &Map) -> Option<&'k str> {
        let given = |key: &str| item.get(key).is_some_and(|value| !value.is_null());
        let known = |key: &str| {
            given(key)
                || inner
                    .message()
                    .and_then(|id| implied(self.graph, self.graph.property(id, key)?))
                    .is_some()
        };
        if keys.iter().any(|key| known(key)) { None } else { keys.first().map(AsRef::as_ref) }
    }

    fn set(&self, inner: &Shape, items: &[Value]) -> Result<(), Fault> {
        let mut seen = HashSet::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if matches!(item, Value::Null | Value::Map(_) | Value::List(_)) {
                let why = format!(
                    "element {index}: associative list without keys has an element that's not a scalar"
                );
                return Err(Fault::new(why));
            }
            self.shape(inner, item).map_err(|fault| fault.below(|| Element::index(index)))?;
            unique(&mut seen, Element::value(item))?;
        }
        Ok(())
    }

    fn items(&self, inner: &Shape, items: &[Value]) -> Result<(), Fault> {
        let mut items = items.iter().enumerate();
        items.try_for_each(|(index, item)| {
            self.shape(inner, item).map_err(|fault| fault.below(|| Element::index(index)))
        })
    }

    fn shape(&self, shape: &Shape, value: &Value) -> Result<(), Fault> {
        match (shape, value) {
            (_, Value::Null) => Ok(()),
            (Shape::Scalar(scalar), value) => self.scalar(*scalar, value),
            (Shape::Message(id), _) if self.is_opaque(*id) => Ok(()),
            (Shape::Message(id), Value::Map(map)) => self.message(self.graph.ty(*id), map),
            (Shape::Map(inner), Value::Map(map)) => map.iter().try_for_each(|(key, value)| {
                self.shape(inner, value).map_err(|fault| fault.below(|| Element::field(key)))
            }),
            (Shape::List(inner), Value::List(items)) => self.items(inner, items),
            (Shape::List(_), other) => Err(expected("list", other)),
            (Shape::Message(_) | Shape::Map(_), other) => Err(expected("map", other)),
        }
    }

    /// A JSON form of its own, or none.
    fn is_opaque(&self, id: TypeId) -> bool {
        let ty = self.graph.ty(id);
        ty.mixed.is_some() || ty.is_untyped()
    }

    fn scalar(&self, scalar: Scalar, value: &Value) -> Result<(), Fault> {
        let number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_));
        let (fits, wanted) = match scalar {
            Scalar::Any => (true, ""),
            Scalar::Bool => (matches!(value, Value::Bool(_)), "boolean"),
            Scalar::Int32 | Scalar::Int64 | Scalar::Double => (number, "numeric (int or float)"),
            Scalar::Quantity | Scalar::IntOrString => {
                (number || matches!(value, Value::String(_)), "scalar")
            }
            Scalar::String | Scalar::Bytes | Scalar::Time | Scalar::MicroTime => {
                (matches!(value, Value::String(_)), "string")
            }
        };
        if fits { Ok(()) } else { Err(expected(wanted, value)) }
    }
}

fn unique(seen: &mut HashSet<Element>, element: Element) -> Result<(), Fault> {
    if seen.contains(&element) {
        return Err(Fault::new(format!("duplicate entries for key {element}")));
    }
    seen.insert(element);
    Ok(())
}

fn expected(what: &str, value: &Value) -> Fault {
    let text = match value {
        Value::Map(_) | Value::List(_) => value.type_name().to_owned(),
        value => serde_json::to_string(value).unwrap_or_default(),
    };
    let shown: String = text.chars().take(EXCERPT_BYTES).collect();
    Fault::new(format!("expected {what}, got {shown}"))
}
