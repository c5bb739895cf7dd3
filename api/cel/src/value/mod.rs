//! Values while an expression runs.
//!
//! Invariants: cloning is cheap (a copy, a borrow or a reference count); `'a` is the time for which the program and the data
//! bound to its variables live, so text, lists and maps of either are read in place; lists and maps made by an expression are
//! never changed once another value holds them. Not here: what functions do with values (the libraries).

mod compare;
mod equal;
mod json;
mod key;
mod kind;
mod list;
mod literal;
mod map;
mod opaque;
mod owned;
mod read;
mod rebuild;
mod shape;
mod table;
mod text;

use std::sync::Arc;

pub(crate) use key::{whole_int, whole_uint};
pub use list::{List, ListIter};
pub use map::{Map, MapIter};
pub use opaque::Opaque;
pub use shape::{Field, ListSemantics, ListShape, ObjectShape, Shape};
pub use table::Table;
pub use text::{Blob, Text};

use crate::eval::EvalError;
use crate::library::time::{Duration, Timestamp};

/// 0001-01-01T00:00:00Z.
const FIRST_SECOND: i64 = -62_135_596_800;

/// A value.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Blob<'a>),
    /// A point in time.
    Timestamp(Timestamp),
    /// A length of time.
    Duration(Duration),
    /// A type, by its name at run time: `list`, `google.protobuf.Timestamp`.
    Type(Text<'a>),
    /// A list.
    List(List<'a>),
    /// A map, or an object with declared fields.
    Map(Map<'a>),
    /// An optional.
    Optional(Option<Arc<Value<'a>>>),
    /// A value of a library's own type.
    Opaque(Arc<dyn Opaque>),
    /// An error that an optional holds; nothing else ever does.
    Error(Arc<EvalError>),
}

impl<'a> Value<'a> {
    /// Text that this value owns.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// Bytes that this value owns.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Bytes(Blob::Shared(bytes.into()))
    }

    /// A list of `items`.
    pub fn list(items: Vec<Value<'a>>) -> Self {
        Self::List(List::from(items))
    }

    /// A map.
    pub fn map(table: Table<'a>) -> Self {
        Self::Map(Map::from(table))
    }

    /// An optional that holds `value`.
    pub fn some(value: Value<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The empty optional.
    pub const NONE: Value<'static> = Value::Optional(None);

    /// A value of a library's own type.
    pub fn opaque(value: impl Opaque + 'static) -> Self {
        Self::Opaque(Arc::new(value))
    }

    /// A library's own value, when it is a `T`.
    pub fn as_opaque<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Opaque(value) => value.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// This value, read from where it is kept for the time `'a`; nothing is counted or copied but the libraries' own.
    pub(crate) fn lent(&'a self) -> Self {
        match self {
            Self::String(text) => Self::String(Text::Borrowed(text)),
            Self::Type(name) => Self::Type(Text::Borrowed(name)),
            Self::Bytes(bytes) => Self::Bytes(Blob::Borrowed(bytes)),
            Self::List(list) => Self::List(list.lent()),
            Self::Map(map) => Self::Map(map.lent()),
            value => value.clone(),
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Name of its type at run time.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Opaque(value) => value.type_name(),
            Self::Map(map) => map.type_name().unwrap_or("map"),
            value => value.known_type_name(),
        }
    }

    /// Name of its type at run time; the libraries' own types have another each.
    pub(crate) fn known_type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Opaque(_) => "opaque",
            Self::Error(_) => "error",
        }
    }

    /// Number of code points, bytes, elements or entries, when it has a size.
    pub fn size(&self) -> Option<u64> {
        let size = match self {
            Self::String(text) => text.code_points(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            _ => return None,
        };
        Some(size as u64)
    }

    /// Whether it is the zero of its type: `0`, `false`, empty, `null`, or the first instant of the year 1.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Duration(value) => value.nanos() == 0,
            Self::Timestamp(value) => {
                value.unix_seconds() == FIRST_SECOND && value.subsecond_nanos() == 0
            }
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Type(_) | Self::Optional(_) | Self::Opaque(_) | Self::Error(_) => false,
        }
    }

    /// Size for the purpose of cost: a value without one counts 1.
    pub fn cost_size(&self) -> u64 {
        self.size().unwrap_or(1)
    }
}
