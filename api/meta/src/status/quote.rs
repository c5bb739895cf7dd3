//! Quoting of values in messages, as in Kubernetes: text in double quotes with escapes, all else as
//! JSON.

use std::fmt::Write as _;

use crate::Value;

/// Bytes of a body that a message shows, at most.
const EXCERPT_BYTES: usize = 30;
/// Initial capacity for a value in a message, in bytes.
const SHOWN_BYTES: usize = 30;

/// `text` in double quotes; control and other unprintable characters are escaped.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, text);
    quoted
}

/// Adds `text` in double quotes to a message.
pub(super) fn push_quoted(message: &mut String, text: &str) {
    message.push('"');
    for char in text.chars() {
        push_escaped(message, char);
    }
    message.push('"');
}

/// The message `beginning` with a value appended: strings quoted, everything else as compact JSON.
pub(super) fn shown(beginning: &str, value: &Value) -> String {
    let mut message = String::with_capacity(beginning.len() + SHOWN_BYTES);
    message.push_str(beginning);
    match value {
        Value::String(text) => push_quoted(&mut message, text),
        other => message.push_str(&serde_json::to_string(other).unwrap_or_default()),
    }
    message
}

/// The beginning of a body for a message: text if it looks like JSON, else hexadecimal.
pub(super) fn excerpt(body: &[u8]) -> String {
    let start = &body[..body.len().min(EXCERPT_BYTES)];
    let shown = match start.first() {
        None => return "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned(),
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if start.len() < body.len() { format!("{shown} ...") } else { shown }
}

fn push_escaped(target: &mut String, char: char) {
    let written = match char {
        '"' => target.write_str("\\\""),
        '\\' => target.write_str("\\\\"),
        '\x07' => target.write_str("\\a"),
        '\x08' => target.write_str("\\b"),
        '\x0c' => target.write_str("\\f"),
        '\n' => target.write_str("\\n"),
        '\r' => target.write_str("\\r"),
        '\t' => target.write_str("\\t"),
        '\x0b' => target.write_str("\\v"),
        '\0'..=' ' | '\x7f' if char != ' ' => write!(target, "\\x{:02x}", u32::from(char)),
        _ if is_printable(char) => target.write_char(char),
        _ if u32::from(char) < 0x1_0000 => write!(target, "\\u{:04x}", u32::from(char)),
        _ => write!(target, "\\U{:08x}", u32::from(char)),
    };
    written.expect("writing to a string cannot fail");
}

fn is_printable(char: char) -> bool {
    let invisible = matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}');
    char == ' ' || !(char.is_control() || char.is_whitespace() || invisible)
}
