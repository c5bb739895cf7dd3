//! The YAML reader.
//!
//! JSON, which is YAML too and which most clients send, is read by the JSON parser first.

use std::borrow::Cow;

use quorate_meta::Value;

use super::decode::{Duplicate, decode, float};
use super::error::Error;
use super::events;
use super::nodes::Document;

/// Largest text that is read, in bytes. Requests have a smaller limit of their own.
pub const MAX_BYTES: usize = crate::json::MAX_BYTES;
/// Deepest nesting of lists and maps, with those that aliases repeat.
pub const MAX_DEPTH: usize = crate::json::MAX_DEPTH;
/// Most scalars, lists, maps and aliases in one text, including keys and duplicates, because the
/// scanner needs time for each.
pub const MAX_NODES: usize = 300_000;

/// Reads the first YAML document; text without one is `null`. Also returns duplicate keys in order
/// of appearance, at most `MAX_DUPLICATES`.
pub fn parse(text: &[u8]) -> Result<(Value, Vec<Duplicate>), Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::yaml(format!("text is larger than {MAX_BYTES} bytes")));
    }
    let text: Cow<'_, str> = events::text(text)?;
    if text.starts_with('{')
        && let Ok((mut value, duplicates)) = crate::json::parse(text.as_bytes())
        && duplicates.is_empty()
    {
        whole_numbers(&mut value);
        return Ok((value, Vec::new()));
    }
    decode(&Document::read(&text)?)
}

/// Makes integers of the floats that have no fraction.
pub fn whole_numbers(value: &mut Value) {
    match value {
        Value::Float(number) => {
            if let Ok(number) = float(*number) {
                *value = number;
            }
        }
        Value::List(items) => items.iter_mut().for_each(whole_numbers),
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| whole_numbers(value)),
        _ => {}
    }
}
