//! YAML text to and from `Value`.
//!
//! Text is read as Kubernetes 1.35 reads it: the grammar is libyaml's, scalars mean what they mean in
//! YAML 1.1 (`yes` is true, `0644` is octal), and the first document of a text counts. Size, depth,
//! nodes and the expansion of aliases are bounded. Of duplicate keys the last one wins, as in JSON;
//! they are reported, and strict callers refuse.
//!
//! `events` is the grammar, `nodes` the document as it stands in the text, `resolve` the meaning of
//! a scalar, and `decode` makes a `Value` of them.

mod decode;
mod error;
mod events;
mod key;
mod list;
mod nodes;
mod read;
mod resolve;
#[cfg(test)]
mod tests;

use quorate_meta::Value;

pub use decode::Duplicate;
pub use error::Error;
pub use list::{list_head, list_item, list_tail};
pub use read::{MAX_BYTES, MAX_DEPTH, MAX_NODES, parse, whole_numbers};

/// `value` as a YAML document, sorted keys, block style. Strings are quoted if one of them has a line
/// that begins with a tab: libyaml takes no such line for the first of a block.
pub fn write(value: &Value) -> String {
    let options = serde_saphyr::ser_options! { quote_all: has_tabbed_line(value) };
    serde_saphyr::to_string_with_options(value, options)
        .expect("a tree of JSON values has no key or value that YAML cannot express")
}

fn has_tabbed_line(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.contains('\t')
                && text.split('\n').any(|line| line.trim_start_matches(' ').starts_with('\t'))
        }
        Value::List(items) => items.iter().any(has_tabbed_line),
        Value::Map(map) => map.values().any(has_tabbed_line),
        _ => false,
    }
}
