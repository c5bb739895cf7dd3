//! The YAML reader.
//!
//! JSON, which is YAML too and which most clients send, is read by the JSON parser first. Other
//! text is read in one pass: the last of duplicate keys wins, and duplicates are reported up to
//! `MAX_DUPLICATES`. In text that merges maps (`<<`) the library itself picks the last value:
//! duplicates in maps with integer keys, and those that a merge adds, are not reported.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use quorate_meta::{Map, SmolStr, Value};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Options, Spanned};

use super::key::Key;
use crate::json::{MAX_DUPLICATES, prefix};

/// Largest text that is read, in bytes. Requests have a smaller limit of their own.
pub const MAX_BYTES: usize = crate::json::MAX_BYTES;
/// Deepest nesting of lists and maps in text that is not JSON; the library recurses with large
/// frames.
pub const MAX_DEPTH: usize = 64;
/// Most scalars, lists and maps in one text, including keys and duplicates, because the library
/// needs time for each.
pub const MAX_NODES: usize = 300_000;
/// The same in text with `<<`: to pick the last of duplicate keys the library reads integer keys
/// again at each depth.
pub const MAX_MERGING_NODES: usize = 50_000;
/// Most parser events that aliases may replay in one text.
pub const MAX_ALIAS_EVENTS: usize = 100_000;

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("yaml: {message}")]
pub struct Error {
    /// Line of the error, counted from one; zero when there is none.
    pub line: u64,
    /// The message, one line.
    message: String,
    /// Whether the text has more nodes than allowed.
    pub too_many: bool,
}

/// A key that its map already had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Line of the duplicate, counted from one.
    pub line: u64,
    /// The key.
    pub key: String,
    /// Its path (`spec.items[0].name`); of a very long one the end.
    pub path: String,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: key {} already set in map", self.line, quorate_meta::quoted(&self.key))
    }
}

/// Reads one YAML document; text without one is `null`. Also returns duplicate keys in order of
/// appearance, at most `MAX_DUPLICATES`.
pub fn parse(text: &[u8]) -> Result<(Value, Vec<Duplicate>), Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::whole(format!("text is larger than {MAX_BYTES} bytes")));
    }
    let text = std::str::from_utf8(text)
        .map_err(|_| Error::whole("text is not valid UTF-8".to_owned()))?;
    if text.starts_with('{')
        && let Ok((value, duplicates)) = crate::json::parse(text.as_bytes())
        && duplicates.is_empty()
    {
        return Ok((value, Vec::new()));
    }
    let duplicates = RefCell::new(Vec::new());
    let seed = Node { duplicates: &duplicates };
    // Otherwise the first of the duplicate keys of a merged map would win.
    let (duplicate_keys, max_nodes) = if text.contains("<<") {
        (DuplicateKeyPolicy::LastWins, MAX_MERGING_NODES)
    } else {
        (DuplicateKeyPolicy::PassThrough, MAX_NODES)
    };
    let options = options(duplicate_keys, max_nodes);
    let value =
        serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
            seed.deserialize(deserializer)
        })
        .map_err(|error| Error::new(&error, max_nodes))?;
    Ok((value, duplicates.into_inner()))
}

fn options(duplicate_keys: DuplicateKeyPolicy, max_nodes: usize) -> Options {
    let budget = serde_saphyr::budget! {
        max_reader_input_bytes: Some(MAX_BYTES),
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_nodes: max_nodes,
        max_documents: 2,
        max_total_scalar_bytes: MAX_BYTES,
    };
    let alias_limits = serde_saphyr::alias_limits! {
        max_total_replayed_events: MAX_ALIAS_EVENTS,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        duplicate_keys: duplicate_keys,
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}

impl Error {
    /// An error of the text as a whole.
    fn whole(message: String) -> Self {
        Self { line: 0, message, too_many: false }
    }

    fn new(error: &serde_saphyr::Error, max_nodes: usize) -> Self {
        let line = error.location().map_or(0, |location| location.line());
        let (message, too_many) = match error.without_snippet() {
            serde_saphyr::Error::Budget { breach: BudgetBreach::Nodes { .. }, .. } => {
                (format!("text has more than {max_nodes} keys and values"), true)
            }
            other => {
                // A list or a map is two events, so a text of hardly anything else exceeds the
                // events first.
                let events = matches!(
                    other,
                    serde_saphyr::Error::Budget { breach: BudgetBreach::Events { .. }, .. }
                );
                (other.to_string().lines().next().unwrap_or_default().to_owned(), events)
            }
        };
        Self { line, message, too_many }
    }
}

/// Reads a node, keeping the last of duplicate keys and reporting the others.
#[derive(Clone, Copy)]
struct Node<'s> {
    duplicates: &'s RefCell<Vec<Duplicate>>,
}

impl Node<'_> {
    /// The number of duplicates that are reported so far.
    fn noted(self) -> usize {
        self.duplicates.borrow().len()
    }

    /// Puts `step` before the paths of duplicates reported after the first `noted`.
    fn prefix(self, noted: usize, step: &str) {
        self.duplicates.borrow_mut()[noted..]
            .iter_mut()
            .for_each(|duplicate| prefix(&mut duplicate.path, step));
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML node")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        Value::deserialize(de::value::I128Deserializer::new(value))
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        Value::deserialize(de::value::U128Deserializer::new(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Value::deserialize(de::value::F64Deserializer::new(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        let mut noted = self.noted();
        while let Some(item) = sequence.next_element_seed(self)? {
            if self.noted() > noted {
                self.prefix(noted, &format!("[{}]", items.len()));
                noted = self.noted();
            }
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let mut entries: Vec<(SmolStr, Value)> = Vec::new();
        let mut seen = HashSet::new();
        while self.noted() < MAX_DUPLICATES {
            let Some(key) = source.next_key::<Spanned<Key>>()? else {
                break;
            };
            let line = key.referenced.line();
            let Key(key) = key.value;
            if !seen.insert(key.clone()) {
                self.duplicates.borrow_mut().push(Duplicate {
                    line,
                    key: key.clone(),
                    path: key.clone(),
                });
            }
            let noted = self.noted();
            let value = source.next_value_seed(self)?;
            self.prefix(noted, &key);
            entries.push((key.into(), value));
        }
        // Further duplicates are not reported; the end of the map may be requested again.
        while let Some(Key(key)) = source.next_key()? {
            entries.push((key.into(), source.next_value_seed(self)?));
        }
        Ok(Value::Map(Map::from_entries(entries).0))
    }
}
