//! The lowest layer of the protobuf writer: keys, numbers and length-prefixed parts.

use super::Error;

/// Appends a number in base 128, low part first.
pub(super) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    out.push(low_bits(number));
}

/// Appends an integer or boolean field; negative ones take ten bytes.
pub(super) fn number(tag: u32, number: i64, out: &mut Vec<u8>) {
    key(tag, 0, out);
    varint(number.cast_unsigned(), out);
}

/// Appends a floating-point field.
pub(super) fn double(tag: u32, number: f64, out: &mut Vec<u8>) {
    key(tag, 1, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a field of text or bytes.
pub(super) fn bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    bytes_head(tag, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends the beginning of a field of so many bytes, which are still to follow.
pub(super) fn bytes_head(tag: u32, length: u64, out: &mut Vec<u8>) {
    if tag < 16 && length < 0x80 {
        return out.extend_from_slice(&[low_bits(u64::from(tag) << 3 | 2), low_bits(length)]);
    }
    key(tag, 2, out);
    varint(length, out);
}

/// Appends a message field whose content is what `content` appends.
pub(super) fn message(
    tag: u32,
    out: &mut Vec<u8>,
    content: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    key(tag, 2, out);
    let start = out.len();
    out.push(0);
    content(out)?;
    let mut length = Vec::new();
    varint((out.len() - start - 1) as u64, &mut length);
    match length.as_slice() {
        [short] => out[start] = *short,
        long => drop(out.splice(start..=start, long.iter().copied())),
    }
    Ok(())
}

fn key(tag: u32, wire_type: u64, out: &mut Vec<u8>) {
    varint(u64::from(tag) << 3 | wire_type, out);
}

fn low_bits(number: u64) -> u8 {
    (number & 0x7f).to_le_bytes()[0]
}
