//! Members of JSON objects, as writers of audit events append them.
//!
//! Each is written with a comma before it; the first one's becomes the brace ([`close`]).

use quorate_wire::json::write_string;

/// Ends an object whose members begin here.
fn close(begin: usize, out: &mut Vec<u8>) {
    match out.get_mut(begin) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

/// Writes a field; `,"name":` as it is written, in one piece.
pub(super) fn write_object(key: &'static str, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(key.as_bytes());
    let begin = out.len();
    fill(out);
    close(begin, out);
}

/// Writes a field, unless it is empty.
pub(super) fn write_text(key: &'static str, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        out.extend_from_slice(key.as_bytes());
        write_string(text, out);
    }
}

/// Writes a field, unless it is empty.
pub(super) fn write_texts(
    key: &'static str,
    texts: impl Iterator<Item = impl AsRef<str>>,
    out: &mut Vec<u8>,
) {
    let mut texts = texts.peekable();
    if texts.peek().is_some() {
        out.extend_from_slice(key.as_bytes());
        write_list(texts, out);
    }
}

/// Writes a list that is not empty.
pub(super) fn write_list(texts: impl Iterator<Item = impl AsRef<str>>, out: &mut Vec<u8>) {
    let mut mark = b'[';
    for text in texts {
        out.push(mark);
        write_string(text.as_ref(), out);
        mark = b',';
    }
    out.push(b']');
}
