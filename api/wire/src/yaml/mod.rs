//! YAML text to and from `Value`, through the `serde-saphyr` library.
//!
//! One document per text; size, depth, nodes and the expansion of aliases are bounded. Keys are
//! strings, numbers and booleans are read the way Kubernetes manifests expect (`yes` is true,
//! `0644` is octal). A duplicate key is reported with its line and path and the last value wins, as
//! in JSON; strict callers refuse.

mod key;
mod list;
mod read;
#[cfg(test)]
mod tests;

use quorate_meta::Value;

pub use list::{list_head, list_item, list_tail};
pub use read::{
    Duplicate, Error, MAX_ALIAS_EVENTS, MAX_BYTES, MAX_DEPTH, MAX_MERGING_NODES, MAX_NODES, parse,
};

/// `value` as a YAML document, sorted keys, block style.
pub fn write(value: &Value) -> String {
    serde_saphyr::to_string(value)
        .expect("a tree of JSON values has no key or value that YAML cannot express")
}
