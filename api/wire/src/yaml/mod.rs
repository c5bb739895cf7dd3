//! YAML text to and from `Value`, through the `serde-saphyr` library.
//!
//! One document per text; size, depth, nodes and what aliases may expand to are bounded. Keys are text, numbers and
//! booleans are read the way Kubernetes manifests expect (`yes` is true, `0644` is octal). A repeated key is reported
//! with its line and path, the last value wins, as in JSON; callers that are strict refuse.

mod key;
mod list;
mod read;
#[cfg(test)]
mod tests;

use quorate_meta::Value;

pub use list::{list_head, list_item, list_tail};
pub use read::{Duplicate, Error, MAX_ALIAS_EVENTS, MAX_BYTES, MAX_DEPTH, MAX_MERGING_NODES, MAX_NODES, parse};

/// `value` as a YAML document, sorted keys, block style.
pub fn write(value: &Value) -> String {
    serde_saphyr::to_string(value).expect("a tree of JSON values has no key or value that YAML cannot express")
}
