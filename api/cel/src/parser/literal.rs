//! What number, text and bytes literals mean.
//!
//! Invariants: a literal's text has the form that the lexer accepts. Not here: signs, which are the parser's.

/// The text of a string literal, or what is wrong with it.
pub(super) fn string(literal: &str) -> Result<String, &'static str> {
    let bytes = unescape(literal, false)?;
    String::from_utf8(bytes).map_err(|_| UNABLE)
}

/// The bytes of a bytes literal, without its `b`.
pub(super) fn bytes(literal: &str) -> Result<Vec<u8>, &'static str> {
    unescape(literal, true)
}

/// An integer, decimal or in hexadecimal after `0x`.
pub(super) fn int(literal: &str, negative: bool) -> Option<i64> {
    let magnitude = i128::from(uint(literal)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// An unsigned integer without its `u`.
pub(super) fn uint(literal: &str) -> Option<u64> {
    match literal.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => literal.parse().ok(),
    }
}

/// A floating-point number that is no infinity.
pub(super) fn double(literal: &str, negative: bool) -> Option<f64> {
    let magnitude: f64 = literal.parse().ok()?;
    magnitude.is_finite().then_some(if negative { -magnitude } else { magnitude })
}

const UNABLE: &str = "unable to unescape string";
const UNABLE_OCTAL: &str = "unable to unescape octal sequence in string";
const NO_CODE_POINT: &str = "invalid unicode code point";

fn unescape(literal: &str, is_bytes: bool) -> Result<Vec<u8>, &'static str> {
    let (raw, quoted) = match literal.strip_prefix(['r', 'R']) {
        Some(quoted) => (true, quoted),
        None => (false, literal),
    };
    let quotes = if quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\""))
    {
        3
    } else {
        1
    };
    let content = quoted.get(quotes..quoted.len().saturating_sub(quotes)).ok_or(UNABLE)?;
    let mut unescaped = Vec::with_capacity(content.len());
    let mut rest = content.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'\r', _) => {
                unescaped.push(b'\n');
                tail.strip_prefix(b"\n").unwrap_or(tail)
            }
            (b'\\', tail) if !raw => escape(tail, is_bytes, &mut unescaped)?,
            (byte, tail) => {
                unescaped.push(*byte);
                tail
            }
        };
    }
    Ok(unescaped)
}

/// Reads what follows a backslash and returns the bytes after it.
fn escape<'l>(tail: &'l [u8], is_bytes: bool, to: &mut Vec<u8>) -> Result<&'l [u8], &'static str> {
    let [kind, tail @ ..] = tail else {
        return Err(UNABLE);
    };
    let simple = match kind {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'\'' | b'"' | b'`' | b'?' => *kind,
        b'x' | b'X' => return code(tail, 0, 2, 16, is_bytes, to).ok_or(UNABLE),
        b'u' | b'U' if is_bytes => return Err(UNABLE),
        b'u' => return code(tail, 0, 4, 16, false, to).ok_or(NO_CODE_POINT),
        b'U' => return code(tail, 0, 8, 16, false, to).ok_or(NO_CODE_POINT),
        b'0'..=b'3' => {
            return code(tail, u32::from(kind - b'0'), 2, 8, is_bytes, to).ok_or(UNABLE_OCTAL);
        }
        _ => return Err(UNABLE),
    };
    to.push(simple);
    Ok(tail)
}

/// Reads digits and writes the byte or the code point that they and what stood before them name.
fn code<'l>(
    tail: &'l [u8],
    head: u32,
    count: usize,
    radix: u32,
    byte: bool,
    to: &mut Vec<u8>,
) -> Option<&'l [u8]> {
    let value = tail.get(..count)?.iter().try_fold(head, |value, digit| {
        value.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?)
    })?;
    if byte {
        to.push(u8::try_from(value).ok()?);
    } else {
        to.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Some(&tail[count..])
}
