//! Whether a value has a static type, as calls that are dispatched at run time ask.

use super::Value;
use crate::types::Type;

impl Value<'_> {
    /// Whether this can be an argument where `parameter` is declared. Of lists and maps the first element is looked at.
    pub(crate) fn is_of(&self, parameter: &Type) -> bool {
        match parameter {
            Type::Dyn | Type::Any | Type::Param(_) | Type::Variable(_) | Type::Error => true,
            Type::Null => matches!(self, Self::Null),
            Type::Bool => matches!(self, Self::Bool(_)),
            Type::Int => matches!(self, Self::Int(_)),
            Type::Uint => matches!(self, Self::Uint(_)),
            Type::Double => matches!(self, Self::Double(_)),
            Type::String => matches!(self, Self::String(_)),
            Type::Bytes => matches!(self, Self::Bytes(_)),
            Type::Timestamp => matches!(self, Self::Timestamp(_)),
            Type::Duration => matches!(self, Self::Duration(_)),
            Type::Wrapper(wrapped) => matches!(self, Self::Null) || self.is_of(wrapped),
            Type::List(element) => match self {
                Self::List(list) => list.get(0).is_none_or(|first| first.is_of(element)),
                _ => false,
            },
            Type::Map(key, value) => match self {
                Self::Map(map) => map
                    .iter()
                    .next()
                    .is_none_or(|(first, held)| first.is_of(key) && held.is_of(value)),
                _ => false,
            },
            Type::Optional(inner) => match self {
                Self::Optional(held) => held.as_ref().is_none_or(|held| held.is_of(inner)),
                _ => false,
            },
            Type::Type(_) | Type::AnyType => matches!(self, Self::Type(_)),
            Type::Object(name) => match self {
                Self::Map(map) => map.object().is_some_and(|object| object.name == *name),
                other => other.type_name() == &**name,
            },
            Type::Opaque(name) => self.type_name() == &**name,
        }
    }
}
