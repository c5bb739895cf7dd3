//! Streamed protobuf bodies: lists, whose length is counted before the first byte is sent, and
//! watch frames.

use super::lengths::{delimited_len, key_len};
use super::{Envelope, Error, writer};

/// `items` of every list; `metadata` has a lower number, so a list without items is the beginning
/// of one with items.
const ITEMS: u32 = 2;
/// `type` and `object` of a watch event, and `raw` of the object.
const EVENT_TYPE: u32 = 1;
const EVENT_OBJECT: u32 = 2;
const OBJECT_RAW: u32 = 1;

/// Appends to a list's message the beginning of one item, whose message of `length` bytes follows.
pub fn write_item_head(length: usize, out: &mut Vec<u8>) {
    writer::bytes_head(ITEMS, length as u64, out);
}

/// Bytes of one item whose message has so many.
#[must_use]
pub fn item_len(length: usize) -> usize {
    key_len(ITEMS) + delimited_len(length)
}

/// The bytes before and after a list's message of `length` bytes in the body.
#[must_use]
pub fn around_list(api_version: &str, kind: &str, length: u64) -> (Vec<u8>, Vec<u8>) {
    Envelope { api_version, kind, raw: &[] }.write_around(length)
}

/// Appends a watch frame with an object of these names (apiVersion and kind), given its message.
///
/// # Errors
/// An event of 4 GiB or more.
pub fn write_object_frame(
    kind: &str,
    (api_version, object_kind): (&str, &str),
    message: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let (head, tail) = around_list(api_version, object_kind, message.len() as u64);
    let body = head.len() + message.len() + tail.len();
    let object = key_len(OBJECT_RAW) + delimited_len(body);
    let event = key_len(EVENT_TYPE) + delimited_len(kind.len());
    let length = event + key_len(EVENT_OBJECT) + delimited_len(object);
    let length = u32::try_from(length).map_err(|_| super::Problem::TooLarge)?;
    out.extend_from_slice(&length.to_be_bytes());
    writer::bytes(EVENT_TYPE, kind.as_bytes(), out);
    writer::bytes_head(EVENT_OBJECT, object as u64, out);
    writer::bytes_head(OBJECT_RAW, body as u64, out);
    [&head, message, &tail].into_iter().for_each(|part| out.extend_from_slice(part));
    Ok(())
}

/// Appends a watch frame: four bytes of length, most significant first, and the event, whose object
/// is a body with its envelope.
///
/// # Errors
/// An event of 4 GiB or more.
pub fn write_frame(kind: &str, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    writer::bytes(EVENT_TYPE, kind.as_bytes(), out);
    writer::message(EVENT_OBJECT, out, |out| {
        writer::bytes(OBJECT_RAW, body, out);
        Ok(())
    })?;
    let length = u32::try_from(out.len() - start - 4).map_err(|_| super::Problem::TooLarge)?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
