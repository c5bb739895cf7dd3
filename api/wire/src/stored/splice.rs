//! Splicing: responses are copied from stored values, with type and resourceVersion inserted.
//!
//! `api_version` and `kind` are names from the schema and need no escapes. Each function has a
//! counterpart for the exact number of bytes, so that callers can reserve memory and send a length.

use bytes::BufMut;

use super::SpliceRef;

const API_VERSION: &[u8] = b"{\"apiVersion\":\"";
const KIND: &[u8] = b"\",\"kind\":\"";
const END_OF_TYPE: &[u8] = b"\",";
const RESOURCE_VERSION: &[u8] = b"\"resourceVersion\":\"";
const END_OF_VERSION: &[u8] = b"\",";
const PARTIAL_KIND: &str = "PartialObjectMetadata";
const METADATA: &[u8] = b"\"metadata\":";

/// Appends the whole object: the response to a get, or the object of a watch event.
pub fn splice_object<'s>(
    target: &mut impl BufMut,
    stored: impl Into<SpliceRef<'s>>,
    api_version: &str,
    kind: &str,
    revision: u64,
) {
    let (json, hole) = stored.into().whole();
    put_type(target, api_version, kind);
    put_versioned(target, &json[1..], hole - 1, revision);
}

/// Bytes that `splice_object` appends.
pub fn splice_object_len<'s>(
    stored: impl Into<SpliceRef<'s>>,
    api_version: &str,
    kind: &str,
    revision: u64,
) -> usize {
    type_len(api_version, kind) + splice_item_len(stored, revision) - 1
}

/// Appends the object without its type: an item of a list.
pub fn splice_item<'s>(target: &mut impl BufMut, stored: impl Into<SpliceRef<'s>>, revision: u64) {
    let (json, hole) = stored.into().whole();
    put_versioned(target, json, hole, revision);
}

/// Bytes that `splice_item` appends.
pub fn splice_item_len<'s>(stored: impl Into<SpliceRef<'s>>, revision: u64) -> usize {
    stored.into().whole().0.len() + version_len(revision)
}

/// Appends the bytes between the two halves of [`super::StoredRef::halves`] in an item.
pub fn splice_version(target: &mut impl BufMut, revision: u64) {
    target.put_slice(RESOURCE_VERSION);
    target.put_slice(itoa::Buffer::new().format(revision).as_bytes());
    target.put_slice(END_OF_VERSION);
}

/// Appends the object's metadata as a `PartialObjectMetadata` of `api_version` (that of the meta
/// group).
pub fn splice_partial<'s>(
    target: &mut impl BufMut,
    stored: impl Into<SpliceRef<'s>>,
    api_version: &str,
    revision: u64,
) {
    let (metadata, hole) = stored.into().metadata();
    put_type(target, api_version, PARTIAL_KIND);
    target.put_slice(METADATA);
    put_versioned(target, metadata, hole, revision);
    target.put_slice(b"}");
}

/// Bytes that `splice_partial` appends.
pub fn splice_partial_len<'s>(
    stored: impl Into<SpliceRef<'s>>,
    api_version: &str,
    revision: u64,
) -> usize {
    let (metadata, _) = stored.into().metadata();
    type_len(api_version, PARTIAL_KIND)
        + METADATA.len()
        + metadata.len()
        + version_len(revision)
        + 1
}

fn put_type(target: &mut impl BufMut, api_version: &str, kind: &str) {
    target.put_slice(API_VERSION);
    target.put_slice(api_version.as_bytes());
    target.put_slice(KIND);
    target.put_slice(kind.as_bytes());
    target.put_slice(END_OF_TYPE);
}

fn type_len(api_version: &str, kind: &str) -> usize {
    API_VERSION.len() + api_version.len() + KIND.len() + kind.len() + END_OF_TYPE.len()
}

fn put_versioned(target: &mut impl BufMut, json: &[u8], hole: usize, revision: u64) {
    let (before, after) = json.split_at(hole);
    target.put_slice(before);
    splice_version(target, revision);
    target.put_slice(after);
}

fn version_len(revision: u64) -> usize {
    let digits = revision.checked_ilog10().unwrap_or(0) as usize + 1;
    RESOURCE_VERSION.len() + digits + END_OF_VERSION.len()
}
