//! One event of a watch: its type for this watcher, and its line.
//!
//! Invariant: with a selector, an object that begins to match is an addition and one that stops to
//! match is a deletion, with the state that did match and the revision of the change.

use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::Status;
use quorate_schema::TypeId;
use quorate_store::{Event, Revision};
use quorate_wire::cbor::write_event;
use quorate_wire::json;
use quorate_wire::protobuf::{write_frame, write_object_frame};
use quorate_wire::stored::CorruptValue;

use crate::encoding::ObjectVersion;
use crate::fanout::{EventKey, Watcher};
use crate::handlers::object_messages::StoredObject;
use crate::handlers::options::Selection;
use crate::handlers::render::Renderer;
use crate::negotiation::Media;

pub(super) const ADDED: &str = "ADDED";
const MODIFIED: &str = "MODIFIED";
const DELETED: &str = "DELETED";

/// What a change is to a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen<'a> {
    pub(super) kind: &'static str,
    /// The stored value of the state that is told.
    pub(super) value: &'a Bytes,
}

/// What a change is to a watcher with this selection; `None` when it does not concern it.
pub(super) fn classify<'a>(
    event: &'a Event,
    selection: Option<&Selection>,
) -> Result<Option<Seen<'a>>, CorruptValue> {
    let current = matching(event.current.as_ref().map(|entry| &entry.value), selection)?;
    let previous = matching(event.previous.as_ref().map(|entry| &entry.value), selection)?;
    Ok(match (previous, current) {
        (None, Some(value)) => Some(Seen { kind: ADDED, value }),
        (Some(_), Some(value)) => Some(Seen { kind: MODIFIED, value }),
        (Some(value), None) => Some(Seen { kind: DELETED, value }),
        (None, None) => None,
    })
}

fn matching<'a>(
    value: Option<&'a Bytes>,
    selection: Option<&Selection>,
) -> Result<Option<&'a Bytes>, CorruptValue> {
    match (value, selection) {
        (Some(value), Some(selection)) => Ok(selection.matches(value)?.then_some(value)),
        (value, _) => Ok(value),
    }
}

/// Writes an event's line, its frame in protobuf or its data item in CBOR. `key` is the object's.
pub(super) fn line(
    renderer: &Renderer,
    key: &Bytes,
    seen: &Seen<'_>,
    revision: Revision,
    first: bool,
    out: &mut Vec<u8>,
) -> Result<(), CorruptValue> {
    // What is told of a deletion is another version than that of its revision.
    let version = (seen.kind != DELETED).then_some(ObjectVersion { key, revision });
    let object = StoredObject { value: seen.value, version };
    if let Some(message) = renderer.message(object, revision) {
        let framed = write_object_frame(seen.kind, renderer.item_names(), &message?, out);
        return framed.map_err(|_| CorruptValue::Header("it is too large for a frame"));
    }
    write(renderer, seen.kind, renderer.item_type(), out, |out| {
        renderer.object(seen.value, revision, first, out)
    })
}

/// An event's line, shared with every watcher that wants it in the same form, which is what the
/// variant names.
pub(super) fn shared_line(
    (watcher, variant): (&Watcher, Option<&Arc<str>>),
    renderer: &Renderer,
    seen: &Seen<'_>,
    event: &Event,
    revision: Revision,
    first: bool,
) -> Result<Bytes, CorruptValue> {
    let make = || {
        let mut out = Vec::with_capacity(seen.value.len() + 128);
        line(renderer, &event.key, seen, revision, first, &mut out)?;
        Ok(out.into())
    };
    match variant {
        Some(variant) => watcher.share(
            EventKey {
                revision,
                key: event.key.clone(),
                kind: seen.kind,
                variant: variant.clone(),
            },
            make,
        ),
        None => make(),
    }
}

/// Writes a bookmark's line; annotations mark the end of the initial events.
pub(super) fn bookmark(
    renderer: &Renderer,
    revision: Revision,
    annotations: &[&str],
    out: &mut Vec<u8>,
) -> Result<(), CorruptValue> {
    write(renderer, "BOOKMARK", None, out, |out| {
        renderer.bookmark(revision, annotations, out);
        Ok(())
    })
}

/// Writes the line that ends a stream which cannot go on.
pub(super) fn error(
    renderer: &Renderer,
    status: &Status,
    out: &mut Vec<u8>,
) -> Result<(), CorruptValue> {
    write(renderer, "ERROR", None, out, |out| {
        json::write(&status.to_value(), out);
        Ok(())
    })
}

/// Writes an event around an object's JSON, or nothing when that fails; `ty` is the object's type
/// where it is a whole one.
fn write(
    renderer: &Renderer,
    kind: &str,
    ty: Option<TypeId>,
    out: &mut Vec<u8>,
    object: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
) -> Result<(), CorruptValue> {
    let start = out.len();
    let written = put(renderer, kind, ty, out, object);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// The same, with what was written before a failure.
fn put(
    renderer: &Renderer,
    kind: &str,
    ty: Option<TypeId>,
    out: &mut Vec<u8>,
    object: impl FnOnce(&mut Vec<u8>) -> Result<(), CorruptValue>,
) -> Result<(), CorruptValue> {
    if matches!(renderer.media(), Media::Json | Media::Yaml) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        object(out)?;
        out.extend_from_slice(b"}\n");
        return Ok(());
    }
    let mut json = Vec::new();
    object(&mut json)?;
    let framed = match renderer.media() {
        Media::Json | Media::Yaml => None,
        Media::Protobuf(protobuf) => {
            protobuf.body_of_json(&json).ok().and_then(|body| write_frame(kind, &body, out).ok())
        }
        Media::Cbor(cbor) => {
            cbor.body_of_json(ty, &json).ok().map(|body| write_event(kind, &body, out))
        }
    };
    framed.ok_or(CorruptValue::Header("it does not fit the schema of its kind"))
}
