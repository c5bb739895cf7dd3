//! Texts and numbers in JSON.

use quorate_meta as data;

use crate::value::Text;

/// The text in quotes that `json` begins with; borrowed when it has no escapes.
pub(super) fn string(json: &[u8]) -> Option<Text<'_>> {
    let inner = json.strip_prefix(b"\"")?;
    let end = inner.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    if inner.get(end) == Some(&b'"') {
        return std::str::from_utf8(&inner[..end]).ok().map(Text::Borrowed);
    }
    unescape(std::str::from_utf8(inner).ok().or_else(|| valid_part(inner))?).map(Text::from)
}

/// Whether `json` is the text `expected` in quotes.
pub(super) fn is_string(json: &[u8], expected: &str) -> bool {
    let inner =
        json.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or_default();
    if inner.contains(&b'\\') {
        return string(json).is_some_and(|text| *text == *expected);
    }
    inner == expected.as_bytes()
}

/// What is valid UTF-8 at the beginning.
fn valid_part(bytes: &[u8]) -> Option<&str> {
    let end = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    std::str::from_utf8(bytes.get(..end)?).ok()
}

/// Reads up to the closing quote.
fn unescape(text: &str) -> Option<String> {
    let mut read = String::with_capacity(text.len().min(ESCAPED_CAPACITY_MAX));
    let mut rest = text.chars();
    loop {
        match rest.next()? {
            '"' => return Some(read),
            '\\' => match rest.next()? {
                'n' => read.push('\n'),
                'r' => read.push('\r'),
                't' => read.push('\t'),
                'b' => read.push('\u{8}'),
                'f' => read.push('\u{c}'),
                'u' => read.push(code_point(&mut rest)?),
                other => read.push(other),
            },
            other => read.push(other),
        }
    }
}

/// So much is reserved at most for a text with escapes, in bytes; it grows beyond.
const ESCAPED_CAPACITY_MAX: usize = 256;

/// `XXXX`, or two of them that make a code point; half a pair reads as the replacement character.
fn code_point(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let high = unit(rest)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let mut ahead = rest.clone();
    if (ahead.next(), ahead.next()) != (Some('\\'), Some('u')) {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    let low = unit(&mut ahead)?;
    if !(0xdc00..0xe000).contains(&low) {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    *rest = ahead;
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
}

/// Four hexadecimal digits.
fn unit(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |value, _| Some(value * 16 + rest.next()?.to_digit(16)?))
}

/// The number that `json` begins with, an integer when it is written as one and fits.
pub(super) fn number(json: &[u8]) -> Option<data::Value> {
    let end = json
        .iter()
        .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
    let text = std::str::from_utf8(&json[..end.unwrap_or(json.len())]).ok()?;
    if let Ok(value) = text.parse() {
        return Some(data::Value::Int(value));
    }
    if let Ok(value) = text.parse() {
        return Some(data::Value::UInt(value));
    }
    text.parse().ok().map(data::Value::Float)
}
