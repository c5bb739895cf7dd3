//! Data read in place from JSON text, as objects are stored.
//!
//! Invariants: nothing is copied but texts with escapes; every step goes forward through the text, so that going through a list
//! or map once takes time in proportion to its length, while each access by name or index scans from its beginning; text that is
//! no JSON ends what is read there and is never a panic. Not here: checks that the text is JSON (the store holds nothing else).

mod scan;
mod text;

use std::sync::Arc;

use quorate_meta as data;

use super::{List, Map, Shape, Text, Value};
use crate::eval::EvalError;
use scan::{Members, value_at};

pub(super) use scan::Items;

/// A list or object in JSON text, and how it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    /// From the opening bracket on.
    text: &'a [u8],
    shape: &'a Shape,
}

impl Shape {
    /// The JSON `text`, read in this way and in place; a [`Value::Error`] when it is not as declared.
    pub fn read_json<'a>(&'a self, text: &'a [u8]) -> Value<'a> {
        let text = value_at(text);
        let scalar = match text.first() {
            Some(b'[') if matches!(self, Self::Dyn | Self::List(_)) => {
                return Value::List(List::json(View { text, shape: self }));
            }
            Some(b'{') if matches!(self, Self::Dyn | Self::Map(_) | Self::Object(_)) => {
                return Value::Map(Map::json(View { text, shape: self }));
            }
            Some(b'"') => return self.read_json_text(text),
            Some(b'n') => data::Value::Null,
            Some(b't') => data::Value::Bool(true),
            Some(b'f') => data::Value::Bool(false),
            Some(b'-' | b'0'..=b'9') => match text::number(text) {
                Some(number) => number,
                None => return malformed(),
            },
            Some(b'[') => data::Value::List(Vec::new()),
            Some(b'{') => data::Value::Map(data::Map::new()),
            _ => return malformed(),
        };
        self.read_scalar(&scalar)
    }

    fn read_json_text<'a>(&self, json: &'a [u8]) -> Value<'a> {
        match (self, text::string(json)) {
            (_, None) => malformed(),
            (Self::Dyn | Self::String | Self::IntOrString, Some(text)) => Value::String(text),
            (shape, Some(text)) => shape.read_scalar(&data::Value::String(text.to_string())),
        }
    }

    /// A scalar; what it is read as holds no part of it.
    fn read_scalar<'a>(&self, scalar: &data::Value) -> Value<'a> {
        self.read(scalar).into_owned()
    }
}

fn malformed<'a>() -> Value<'a> {
    Value::Error(Arc::new(EvalError::new("invalid data, stored text is not JSON")))
}

impl<'a> View<'a> {
    /// How it is read.
    pub(super) const fn shape(&self) -> &'a Shape {
        self.shape
    }

    /// The elements of a list, or values of a map, as text.
    pub(super) fn items(&self) -> Items<'a> {
        Items::new(self.text)
    }

    /// Number of elements or members.
    pub(super) fn len(&self) -> usize {
        if self.text.first() == Some(&b'{') { self.members().count() } else { self.items().count() }
    }

    /// The element at `index` of a list.
    pub(super) fn element(&self, index: usize) -> Option<Value<'a>> {
        self.items().nth(index).map(|item| self.shape.element().read_json(item))
    }

    /// The members of an object: names and values as text.
    pub(super) fn members(&self) -> impl Iterator<Item = (Text<'a>, &'a [u8])> + use<'a> {
        Members::new(self.text).filter_map(|(name, value)| Some((text::string(name)?, value)))
    }

    /// The member that expressions call `name`; in objects a `null` counts as absent.
    pub(super) fn field(&self, name: &str) -> Option<Value<'a>> {
        let Shape::Object(object) = self.shape else {
            return self.member(name).map(|value| self.shape.element().read_json(value));
        };
        let field = object.field(name)?;
        let value = self.member(&field.key)?;
        (value.first() != Some(&b'n')).then(|| field.shape.read_json(value))
    }

    /// The text of the member `key`.
    pub(super) fn member(&self, key: &str) -> Option<&'a [u8]> {
        Members::new(self.text).find(|(name, _)| text::is_string(name, key)).map(|(_, value)| value)
    }
}

impl<'a> Map<'a> {
    /// The members of an object that its schema does not declare, as JSON says.
    pub(super) fn undeclared(&self) -> Vec<(Text<'a>, Value<'a>)> {
        if let Some((map, Shape::Object(object))) = self.as_tree() {
            let hidden = map.iter().filter(|(key, _)| object.field_of_key(key).is_none());
            return hidden
                .map(|(key, value)| (Text::Borrowed(key), Shape::DYN.read(value)))
                .collect();
        }
        if let Some(view) = self.as_json()
            && let Shape::Object(object) = view.shape
        {
            let hidden = view.members().filter(|(key, _)| object.field_of_key(key).is_none());
            return hidden.map(|(key, value)| (key, Shape::DYN.read_json(value))).collect();
        }
        Vec::new()
    }

    /// The member `key` of data, as JSON says, declared or not.
    pub(super) fn raw(&self, key: &str) -> Option<Value<'a>> {
        match (self.as_tree(), self.as_json()) {
            (Some((map, _)), _) => map.get(key).map(|value| Shape::DYN.read(value)),
            (None, Some(view)) => view.member(key).map(|value| Shape::DYN.read_json(value)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests;
