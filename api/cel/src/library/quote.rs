//! Text in double quotes with escapes, as error texts and formatted values show it.

use std::fmt::Write as _;

/// The text in quotes; what cannot be printed is escaped.
pub(crate) fn quoted(text: &str) -> String {
    quoted_bytes(text.as_bytes())
}

/// The bytes, which need not be whole characters, in quotes.
pub(crate) fn quoted_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_escaped(&mut out, c));
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("a String takes every write");
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_quotes() {
        let check = |text: &str, expect: &str| assert_eq!(quoted(text), expect);
        check("", r#""""#);
        check("it's \"a\\b\"", r#""it's \"a\\b\"""#);
        check("\u{7}\u{8}\u{c}\n\r\t\u{b}\0\u{7f}", r#""\a\b\f\n\r\t\v\x00\x7f""#);
        check("é😀e\u{301}", "\"é😀e\u{301}\"");
        check(
            "\u{a0}\u{200b}\u{2028}\u{feff}\u{e000}\u{e0001}",
            r#""\u00a0\u200b\u2028\ufeff\ue000\U000e0001""#,
        );
        assert_eq!(quoted_bytes(b"%a\xc3"), r#""%a\xc3""#);
    }
}
