//! Streamed CBOR bodies: lists, whose items are counted before the first byte is sent, and watch
//! events, which form a sequence (RFC 8742).

use ciborium_ll::Header;
use quorate_meta::Value;

use super::{encode_item, writer};
use crate::json::{self, Error};

/// Keys of a watch event, in their order.
const EVENT_TYPE: &str = "type";
const EVENT_OBJECT: &str = "object";

/// The bytes before and after the items of a list. `list` is the list without items, which are
/// `count` data items at its key `items`.
///
/// # Errors
/// A list that is nested too deeply.
pub fn around_list(list: &Value, items: &str, count: usize) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let (mut head, mut tail) = (writer::SELF_DESCRIBED.to_vec(), Vec::new());
    let mut entries: Vec<_> = list
        .as_map()
        .into_iter()
        .flat_map(|map| map.iter())
        .filter(|(key, _)| *key != items)
        .collect();
    // Shorter keys come first: their heads are smaller.
    entries.sort_by_key(|(key, _)| (key.len(), *key));
    writer::head(Header::Map(Some(entries.len() + 1)), &mut head);
    for (key, value) in entries {
        let part = if (key.len(), key) < (items.len(), items) { &mut head } else { &mut tail };
        writer::text(key, part);
        encode_item(None, &json::to_vec(value), part)?;
    }
    writer::text(items, &mut head);
    writer::head(Header::Array(Some(count)), &mut head);
    Ok((head, tail))
}

/// Appends a watch event; `body` is its encoded object.
pub fn write_event(kind: &str, body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&writer::SELF_DESCRIBED);
    writer::head(Header::Map(Some(2)), out);
    writer::text(EVENT_TYPE, out);
    writer::text(kind, out);
    writer::text(EVENT_OBJECT, out);
    out.extend_from_slice(body);
}
