//! Extra fields and texts of a user in request headers: half of a header's name is the key of an
//! extra field.
//!
//! Invariants: a text is UTF-8, as names of users are everywhere else; every key is in lower case
//! and occurs once, however the headers spell it.

use std::collections::BTreeMap;

use http::HeaderValue;
use percent_encoding::percent_decode_str;

/// The text of a header's value; `None` when it is none.
pub(super) fn text(value: &HeaderValue) -> Option<&str> {
    str::from_utf8(value.as_bytes()).ok()
}

/// The extra fields by key, of keys as the headers have them, which may be percent-encoded, with
/// their values.
pub(super) fn by_key<'h, V>(found: impl Iterator<Item = (&'h str, V)>) -> Vec<(String, Vec<String>)>
where
    V: Iterator<Item = String>,
{
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, values) in found {
        // Names of headers are in lower case, what is encoded in them need not be.
        let key = percent_decode_str(key).decode_utf8_lossy().to_lowercase();
        extra.entry(key).or_default().extend(values);
    }
    extra.into_iter().collect()
}
