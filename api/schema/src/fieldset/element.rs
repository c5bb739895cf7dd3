//! A path element: a field or map key, or a list element by its keys or its value.

use std::fmt::{self, Write as _};

use quorate_meta::{Map, SmolStr, Value};

/// A path element in its serialized form (`f:name`, `k:{"name":"c"}`, `v:"x"`), whose byte order is
/// that of `FieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element(SmolStr);

impl Element {
    /// A field of a message or a key of a map.
    pub fn field(name: &str) -> Self {
        Self(["f:", name].into_iter().collect())
    }

    /// The list element with these key properties.
    pub fn keys(keys: &Map) -> Self {
        Self::of_pairs(keys.iter())
    }

    /// The list element with these key properties, which come in the order of their names.
    pub(super) fn of_pairs<'v>(pairs: impl Iterator<Item = (&'v str, &'v Value)>) -> Self {
        let mut text = String::from("k:{");
        for (number, (key, value)) in pairs.enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(key).unwrap_or_default());
            text.push(':');
            text.push_str(&json(value));
        }
        text.push('}');
        Self(text.into())
    }

    /// The element of a set with this value.
    pub fn value(value: &Value) -> Self {
        Self(["v:", &json(value)].into_iter().collect())
    }

    /// The element of an atomic list at this index; for messages only.
    pub fn index(index: usize) -> Self {
        Self(["i:", &index.to_string()].into_iter().collect())
    }

    /// The field or key; `None` for other elements.
    pub fn field_name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    /// Reads the serialized form; JSON in it is converted into canonical form. `None` for a
    /// malformed one.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self(text.into())),
            "k" => match serde_json::from_str(rest).ok()? {
                Value::Map(keys) => Some(Self::keys(&keys)),
                _ => None,
            },
            "v" => Some(Self::value(&serde_json::from_str(rest).ok()?)),
            "i" => Some(Self::index(rest.parse::<u32>().ok()?.try_into().ok()?)),
            _ => None,
        }
    }

    /// The form in messages; of one far longer than `limit` bytes only the end, which is longer
    /// than `limit`.
    pub(super) fn shown_end(&self, limit: usize) -> String {
        if self.0.len() <= 2 * limit + 8 {
            return self.to_string();
        }
        let (text, close) = match self.0.strip_prefix("k:") {
            Some(keys) => (keys.strip_suffix('}').unwrap_or(keys), "]"),
            None => (self.0.as_str(), if self.field_name().is_some() { "" } else { "]" }),
        };
        let begin = text.floor_char_boundary(text.len() - limit - 1);
        [&text[begin..], close].concat()
    }

    /// The serialized form, as the key of a map.
    pub(super) fn written(&self) -> SmolStr {
        self.0.clone()
    }

    /// The serialized form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Element {
    /// The form in messages: `.name`, `[name="c"]`, `[="x"]`, `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_once(':') {
            Some(("f", name)) => write!(f, ".{name}"),
            Some(("v", value)) => write!(f, "[={value}]"),
            Some(("k", keys)) => {
                let keys: Map = match serde_json::from_str(keys) {
                    Ok(Value::Map(keys)) => keys,
                    _ => Map::new(),
                };
                let mut text = String::new();
                for (key, value) in keys.iter() {
                    let comma = if text.is_empty() { "" } else { "," };
                    write!(text, "{comma}{key}={}", json(value))?;
                }
                write!(f, "[{text}]")
            }
            _ => write!(f, "[{}]", &self.0[2..]),
        }
    }
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
