//! Text in double quotes with escapes, as error texts and formatted values show it.

use std::fmt::Write as _;

/// The text in quotes; what cannot be printed is escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push_escaped(&mut out, c);
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, c: char) {
    let simple = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ if is_printable(c) => return out.push(c),
        _ => "",
    };
    let code = u32::from(c);
    let written = match (simple, code) {
        ("", ..0x80) => write!(out, "\\x{code:02x}"),
        ("", ..0x1_0000) => write!(out, "\\u{code:04x}"),
        ("", _) => write!(out, "\\U{code:08x}"),
        _ => out.write_str(simple),
    };
    written.expect("a String takes every write");
}

/// Whether a character is a letter, mark, number, punctuation, symbol or the ASCII space.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // Combining marks are printable only after another character.
    String::from_iter(['a', c]).escape_debug().nth(1) == Some(c)
}
