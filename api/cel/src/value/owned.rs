//! Values that borrow nothing.

use super::{Blob, List, Map, Table, Text, Value};

impl Value<'_> {
    /// This value with everything it borrows copied.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Uint(value) => Value::Uint(value),
            Self::Double(value) => Value::Double(value),
            Self::String(text) => Value::String(text.into_owned()),
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned()),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::Duration(value) => Value::Duration(value),
            Self::Type(name) => Value::Type(name.into_owned()),
            Self::List(list) => {
                Value::List(List::from(list.iter().map(Value::into_owned).collect::<Vec<_>>()))
            }
            Self::Map(map) => {
                let mut table = Table::new();
                for (key, value) in map.iter() {
                    table.insert(key.into_owned(), value.into_owned());
                }
                Value::Map(Map::from(table))
            }
            Self::Optional(None) => Value::Optional(None),
            Self::Optional(Some(held)) => Value::some(Value::clone(&held).into_owned()),
            Self::Opaque(value) => Value::Opaque(value),
            Self::Error(error) => Value::Error(error),
        }
    }
}

impl Text<'_> {
    /// This text with what it borrows copied.
    pub fn into_owned(self) -> Text<'static> {
        match self {
            Self::Borrowed(text) => Text::Shared(text.into()),
            Self::Shared(text) => Text::Shared(text),
        }
    }
}

impl Blob<'_> {
    /// These bytes with what they borrow copied.
    pub fn into_owned(self) -> Blob<'static> {
        match self {
            Self::Borrowed(bytes) => Blob::Shared(bytes.into()),
            Self::Shared(bytes) => Blob::Shared(bytes),
        }
    }
}
