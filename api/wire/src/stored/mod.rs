//! The stored value of an object: a small header for filtering, then its canonical JSON, from which
//! responses are spliced.
//!
//! The JSON has neither `apiVersion` nor `kind` nor `metadata.resourceVersion`: the first two
//! depend on the requested version, the last is the revision of the store's entry. Splicing inserts
//! them while copying, without parsing. The header repeats the fields that lists and watches filter
//! by, so that a scan never reads the JSON.
//!
//! Layout, version 1, all numbers little-endian:
//!
//! ```text
//!  0      u8   format version, 1
//!  1      u8   zero
//!  2..4   u16  number of labels, L
//!  4..6   u16  number of selectable fields, F
//!  6..8   u16  number of owner references, O
//!  8..12  u32  bytes of header text, T
//! 12..16  u32  splice offset in the JSON: right before `"uid"` in the metadata
//! 16..24  u32  offsets in the JSON at which the metadata object begins and ends
//! 24..    u16  lengths of the N = 4 + 2L + 2F + 5O header texts: name, namespace, uid, deletion
//!              timestamp; key and value of each label, sorted by key; name and value of each
//!              field; apiVersion, kind, name, uid and a digit (1 controller + 2 blocks deletion)
//!              of each owner reference
//! 24+2N..      the header texts, one after another, UTF-8
//! 24+2N+T..    the JSON
//! ```
//!
//! The first field of custom objects has no name: its value is their mark, which says by which
//! version and schema they were brought into form. Built-in objects have none.
//!
//! Malformed input is an error and never a panic. Checksums against flipped bits are part of the
//! store.

mod encode;
mod layout;
mod read;
mod splice;
#[cfg(test)]
mod tests;

pub use encode::{EncodeError, encode, encode_marked};
pub use layout::FORMAT_VERSION;
pub use read::{CorruptValue, HeaderRef, Labels, OwnerReference, SpliceRef, StoredRef};
pub use splice::{
    splice_item, splice_item_len, splice_object, splice_object_len, splice_partial,
    splice_partial_len, splice_version,
};
