//! Keys of maps, as a hash table holds them.

use super::{Text, Value};

/// A key of a map: numbers of different types are different keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
    Text(KeyText<'a>),
}

/// Text as a key, hashed as a `str`.
#[derive(Debug, Clone)]
pub(super) struct KeyText<'a>(Text<'a>);

impl PartialEq for KeyText<'_> {
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl Eq for KeyText<'_> {}

impl std::hash::Hash for KeyText<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self.0).hash(state);
    }
}

impl<'a> Key<'a> {
    /// The key that `value` is; values of other types are no keys of a hash table.
    pub(super) fn of(value: &Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Double(value) if value.is_nan() => return None,
            // Zero has two forms and is one key.
            Value::Double(value) => Self::Double((value + 0.0).to_bits()),
            Value::String(text) => Self::Text(KeyText(text.clone())),
            _ => return None,
        })
    }

    /// The keys of other number types that have the same value, in the order in which they are tried.
    pub(super) fn same_number(value: &Value<'_>) -> [Option<Key<'static>>; 2] {
        match value {
            Value::Int(value) => [u64::try_from(*value).ok().map(Key::Uint), None],
            Value::Uint(value) => [i64::try_from(*value).ok().map(Key::Int), None],
            Value::Double(value) => {
                [whole_int(*value).map(Key::Int), whole_uint(*value).map(Key::Uint)]
            }
            _ => [None, None],
        }
    }
}

/// The integer that `value` is exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "checked to be exact"
)]
pub(crate) fn whole_int(value: f64) -> Option<i64> {
    let whole = value > i64::MIN as f64 && value < i64::MAX as f64 && value.fract() == 0.0;
    whole.then_some(value as i64)
}

/// The unsigned integer that `value` is exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "checked to be exact"
)]
pub(crate) fn whole_uint(value: f64) -> Option<u64> {
    let whole = value >= 0.0 && value < u64::MAX as f64 && value.fract() == 0.0;
    whole.then_some(value as u64)
}
