//! The identity of list elements as a hash key, so that lists of any length are merged in one pass.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use quorate_meta::Value;

/// What identifies an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum By<'k> {
    /// Its whole value.
    Value,
    /// Its merge key.
    Key(&'k str),
}

impl By<'_> {
    /// The identity of an element.
    pub(super) fn of(self, item: &Value) -> Identity<'_> {
        match self {
            Self::Value => Identity(Some(item)),
            Self::Key(key) => Identity(item.get(key)),
        }
    }

    /// The identities of a list.
    pub(super) fn all(self, list: &[Value]) -> HashSet<Identity<'_>> {
        list.iter().map(|item| self.of(item)).collect()
    }

    /// The index of each element; of equal ones the first.
    pub(super) fn places(self, list: &[Value]) -> HashMap<Identity<'_>, usize> {
        let mut places = HashMap::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            places.entry(self.of(item)).or_insert(at);
        }
        places
    }
}

/// A value, or that there is none, as a key. Floats are finite, so that equality is an equivalence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Identity<'v>(Option<&'v Value>);

impl Eq for Identity<'_> {}

impl Hash for Identity<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            None => state.write_u8(0),
            Some(value) => {
                state.write_u8(1);
                feed(value, state);
            }
        }
    }
}

fn feed(value: &Value, state: &mut impl Hasher) {
    std::mem::discriminant(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        Value::Int(number) => number.hash(state),
        Value::UInt(number) => number.hash(state),
        // Both zeros are equal.
        Value::Float(number) => (number + 0.0).to_bits().hash(state),
        Value::String(text) => text.hash(state),
        Value::List(items) => {
            items.len().hash(state);
            items.iter().for_each(|item| feed(item, state));
        }
        Value::Map(map) => {
            map.len().hash(state);
            for (key, value) in map.iter() {
                key.hash(state);
                feed(value, state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::json;

    #[test]
    fn equal_values_are_one_element() {
        let check = |text: &str, expect: usize| {
            let list = json(text);
            assert_eq!(By::Value.all(list.as_list().unwrap_or_default()).len(), expect, "{text}");
        };
        check(r#"["a","a","b"]"#, 2);
        check("[1,1.0,true,null,null]", 4);
        check("[0.0,-0.0]", 1);
        check(r#"[{"a":[1,{}]},{"a":[1,{}]},{"a":[1]},{}]"#, 3);
    }

    #[test]
    fn the_first_of_equal_keys_counts() {
        let list = json(r#"[{"k":"x","n":1},{"n":2},{"k":"x"},{"k":null}]"#);
        let list = list.as_list().unwrap_or_default();
        let places = By::Key("k").places(list);
        let at: Vec<_> = list.iter().map(|item| places[&By::Key("k").of(item)]).collect();
        assert_eq!(at, [0, 1, 0, 3]);
    }
}
