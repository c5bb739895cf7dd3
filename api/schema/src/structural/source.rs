//! A schema as it is written, read in place: one JSON object with the words of OpenAPI and of this API's extensions.
//!
//! A word with a value of the wrong type counts as absent: the definition's own type was checked when it was decoded.

use quorate_meta::{Map, Names, Value};

/// The names of the extensions in the naming profile.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) preserve_unknown_fields: String,
    pub(super) embedded: String,
    pub(super) int_or_string: String,
    pub(super) list_type: String,
    pub(super) list_map_keys: String,
    pub(super) map_type: String,
    pub(super) validations: String,
}

impl Words {
    pub(super) fn new(names: &Names) -> Self {
        let extension = |name| names.extension(name);
        Self {
            preserve_unknown_fields: extension("preserve-unknown-fields"),
            embedded: extension("embedded-type"),
            int_or_string: extension("int-or-string"),
            list_type: extension("list-type"),
            list_map_keys: extension("list-map-keys"),
            map_type: extension("map-type"),
            validations: extension("validations"),
        }
    }
}

/// What `additionalProperties` says.
#[derive(Clone, Copy, Debug)]
pub(super) enum AdditionalSource<'v> {
    Schema(Source<'v>),
    Allowed(bool),
}

/// One schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'v> {
    map: &'v Map,
    pub(super) words: &'v Words,
}

impl<'v> Source<'v> {
    pub(super) fn of(value: &'v Value, words: &'v Words) -> Option<Self> {
        value.as_map().map(|map| Self { map, words })
    }

    /// The words as they are written.
    pub(super) fn map(self) -> &'v Map {
        self.map
    }

    /// The value of a word; `null` is the same as none.
    pub(super) fn get(self, word: &str) -> Option<&'v Value> {
        self.map.get(word).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, word: &str) -> &'v str {
        self.map.get_str(word).unwrap_or_default()
    }

    pub(super) fn flag(self, word: &str) -> bool {
        self.get(word).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn number(self, word: &str) -> Option<f64> {
        self.get(word)?.as_f64()
    }

    pub(super) fn count(self, word: &str) -> Option<i64> {
        match self.get(word)? {
            Value::Int(count) => Some(*count),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a whole number written with a fraction"
            )]
            Value::Float(count) => Some(*count as i64),
            _ => None,
        }
    }

    pub(super) fn ty(self) -> &'v str {
        self.text("type")
    }

    pub(super) fn list(self, word: &str) -> &'v [Value] {
        self.get(word).and_then(Value::as_list).unwrap_or_default()
    }

    pub(super) fn texts(self, word: &str) -> impl Iterator<Item = &'v str> + Clone {
        self.list(word).iter().filter_map(Value::as_str)
    }

    /// The entries of a map of schemas.
    pub(super) fn schemas(self, word: &str) -> impl Iterator<Item = (&'v str, Self)> {
        let map = self.get(word).and_then(Value::as_map);
        map.into_iter()
            .flat_map(Map::iter)
            .filter_map(move |(name, value)| Some((name, Self::of(value, self.words)?)))
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'v str, Self)> {
        self.schemas("properties")
    }

    pub(super) fn property(self, name: &str) -> Option<Self> {
        Self::of(self.get("properties")?.get(name)?, self.words)
    }

    /// The elements of a list of schemas.
    pub(super) fn each(self, word: &str) -> impl Iterator<Item = (usize, Self)> {
        let items = self.list(word).iter().enumerate();
        items.filter_map(move |(index, value)| Some((index, Self::of(value, self.words)?)))
    }

    pub(super) fn schema(self, word: &str) -> Option<Self> {
        Self::of(self.get(word)?, self.words)
    }

    /// The schema of the elements, unless it is a list of schemas.
    pub(super) fn items(self) -> Option<Self> {
        self.schema("items")
    }

    pub(super) fn additional(self) -> Option<AdditionalSource<'v>> {
        match self.get("additionalProperties")? {
            Value::Bool(allowed) => Some(AdditionalSource::Allowed(*allowed)),
            value => Self::of(value, self.words).map(AdditionalSource::Schema),
        }
    }

    pub(super) fn preserves(self) -> bool {
        self.flag(&self.words.preserve_unknown_fields)
    }

    pub(super) fn is_embedded(self) -> bool {
        self.flag(&self.words.embedded)
    }

    pub(super) fn is_int_or_string(self) -> bool {
        self.flag(&self.words.int_or_string)
    }

    pub(super) fn list_type(self) -> Option<&'v str> {
        self.get(&self.words.list_type)?.as_str()
    }

    pub(super) fn map_type(self) -> Option<&'v str> {
        self.get(&self.words.map_type)?.as_str()
    }

    pub(super) fn list_map_keys(self) -> impl Iterator<Item = &'v str> + Clone {
        self.texts(&self.words.list_map_keys)
    }

    /// Words that are set.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'v str, &'v Value)> {
        self.map.iter().filter(|(_, value)| !value.is_null())
    }

    /// Every schema directly below this one, those that are not allowed included.
    pub(super) fn each_child(self, mut visit: impl FnMut(Self)) {
        for word in ["properties", "patternProperties", "definitions", "dependencies"] {
            self.schemas(word).for_each(|(_, child)| visit(child));
        }
        for word in ["allOf", "anyOf", "oneOf", "items"] {
            self.each(word).for_each(|(_, child)| visit(child));
        }
        for word in ["items", "not", "additionalProperties", "additionalItems"] {
            self.schema(word).into_iter().for_each(&mut visit);
        }
    }
}
