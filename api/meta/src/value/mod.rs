//! The tree of an object: owned JSON with sorted maps. Used on the write path only; reads serve
//! stored bytes.
//!
//! Invariants: a `Map` is sorted by key bytes without duplicates; `UInt` holds only values above
//! `i64::MAX`, so that every integer has one representation; floats are finite. Integers beyond
//! `u64` become floats, as in Kubernetes.
//!
//! Parsing and writing text is in `quorate-wire`.

mod convert;
mod map;
mod path;

pub use map::Map;
pub use path::PathStep;
pub use smol_str::SmolStr;

/// One node of a JSON tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer above `i64::MAX`; never a smaller one.
    UInt(u64),
    /// A number written with a fraction or an exponent, or an integer beyond `u64`; always finite.
    Float(f64),
    /// Text.
    String(String),
    /// An ordered list.
    List(Vec<Value>),
    /// An object, sorted by key.
    Map(Map),
}

impl Value {
    /// The text of a string value.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The value of an integer that fits `i64`; floats are not converted.
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    /// The value of a non-negative integer; floats are not converted.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::UInt(value) => Some(*value),
            _ => None,
        }
    }

    /// Any number as a float, possibly rounded.
    #[expect(clippy::cast_precision_loss, reason = "documented rounding")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::UInt(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The items of a list, to change.
    pub fn as_list_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// The entries of a map, to change.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether this is `null`, an empty string, an empty list or an empty map.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::String(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.is_empty(),
            _ => false,
        }
    }

    /// What JSON calls the type: `null`, `boolean`, `number`, `string`, `array`, `object`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::UInt(_) | Self::Float(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "object",
        }
    }

    /// The entry `key` of a map; `None` when this is no map or has no such entry.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The entry `key` of a map, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_map_mut()?.get_mut(key)
    }
}

#[cfg(test)]
mod tests;
