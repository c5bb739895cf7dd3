//! Percent-encoding, with the sets of characters that each part of a URL allows.

use crate::library::quote::quoted_bytes;

/// UrlPart of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlPart {
    /// The path as a whole.
    Path,
    /// User name or password.
    User,
    /// Host and port.
    Host,
    /// Zone of an IPv6 address.
    Zone,
    /// Name or value of a query parameter.
    Query,
    /// What follows `#`.
    Fragment,
}

/// Whether a byte is written as `%XX` in a part.
pub(super) fn must_escape(byte: u8, part: UrlPart) -> bool {
    let host = matches!(part, UrlPart::Host | UrlPart::Zone);
    match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | b'~' => false,
        b'$' | b'&' | b'+' | b',' | b';' | b'=' => part == UrlPart::Query,
        b':' => matches!(part, UrlPart::User | UrlPart::Query),
        b'/' | b'@' => !matches!(part, UrlPart::Path | UrlPart::Fragment),
        b'?' => part != UrlPart::Fragment,
        b'!' | b'(' | b')' | b'*' => !host && part != UrlPart::Fragment,
        b'\'' | b'[' | b']' | b'<' | b'>' | b'"' => !host,
        _ => true,
    }
}

/// Whether text, taken as it is, could be an encoded path or fragment.
pub(super) fn is_encoded(text: &[u8], part: UrlPart) -> bool {
    text.iter().all(|byte| {
        matches!(byte, b'!' | b'\'' | b'(' | b')' | b'*' | b'[' | b']' | b'%')
            || !must_escape(*byte, part)
    })
}

/// The bytes, encoded for a part.
pub(super) fn escape(bytes: &[u8], part: UrlPart) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if must_escape(*byte, part) {
            let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value)];
            out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        } else {
            out.push(*byte);
        }
    }
    out
}

/// The bytes that encoded text of a part stands for.
pub(super) fn unescape(text: &[u8], part: UrlPart) -> Result<Vec<u8>, String> {
    let host = matches!(part, UrlPart::Host | UrlPart::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'%' => {
                let (value, after) = escaped_byte(tail, part).ok_or_else(|| {
                    let shown = &text[text.len() - tail.len() - 1..];
                    format!("invalid URL escape {}", quoted_bytes(&shown[..shown.len().min(3)]))
                })?;
                (rest, _) = (after, out.push(value));
            }
            b'+' if part == UrlPart::Query => out.push(b' '),
            byte if host && byte.is_ascii() && must_escape(*byte, part) => {
                return Err(format!("invalid character {} in host name", quoted_bytes(&[*byte])));
            }
            byte => out.push(*byte),
        }
    }
    Ok(out)
}

/// The byte after a percent sign, and what follows; `None` where it is not allowed.
fn escaped_byte(tail: &[u8], part: UrlPart) -> Option<(u8, &[u8])> {
    let [high, low, after @ ..] = tail else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let value =
        u8::try_from(digit(high)? * 16 + digit(low)?).expect("two hexadecimal digits fit a byte");
    let allowed = match part {
        _ if value == b'%' => true,
        UrlPart::Host => value >= 0x80,
        UrlPart::Zone => value == b' ' || !must_escape(value, UrlPart::Host),
        _ => true,
    };
    allowed.then_some((value, after))
}
