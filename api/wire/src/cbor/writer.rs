//! The lowest layer of the CBOR writer: heads, numbers and strings, each in its shortest form.

use ciborium_ll::{Encoder, Header, simple};
use quorate_meta::Value;

/// The beginning of every body: the tag of self-described CBOR (RFC 8949, section 3.4.6).
pub(super) const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Bytes of a head, at most: a first byte and a number of 64 bits.
const LONGEST_HEAD: usize = 9;

/// Appends a head.
pub(super) fn head(header: Header, out: &mut Vec<u8>) {
    let mut buffer = [0; LONGEST_HEAD];
    let mut room = &mut buffer[..];
    Encoder::from(&mut room).push(header).expect("a head fits");
    let left = room.len();
    out.extend_from_slice(&buffer[..LONGEST_HEAD - left]);
}

/// Appends text, as a byte string.
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    bytes(text.as_bytes(), out);
}

/// Appends a byte string.
pub(super) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    head(Header::Bytes(Some(bytes.len())), out);
    out.extend_from_slice(bytes);
}

/// Appends a boolean, a number or null; anything else is written as null.
pub(super) fn scalar(value: &Value, out: &mut Vec<u8>) {
    let header = match value {
        Value::Bool(true) => Header::Simple(simple::TRUE),
        Value::Bool(false) => Header::Simple(simple::FALSE),
        Value::UInt(number) => Header::Positive(*number),
        Value::Int(number) => match u64::try_from(*number) {
            Ok(number) => Header::Positive(number),
            Err(_) => Header::Negative(number.unsigned_abs() - 1),
        },
        Value::Float(number) => Header::Float(*number),
        _ => Header::Simple(simple::NULL),
    };
    head(header, out);
}
