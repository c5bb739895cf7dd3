//! Escapes of single characters: `\n`, `\x{1F600}`, `\101`, `\.`.

use super::error::{Kind, RegexError};

/// The largest code point.
const MAX_CODE_POINT: u32 = 0x0010_FFFF;

/// The code point that text, which begins with a backslash, stands for, and what follows.
pub(super) fn read(text: &str) -> Result<(u32, &str), RegexError> {
    let mut rest = text[1..].chars();
    let Some(c) = rest.next() else {
        return Err(RegexError::new(Kind::TrailingBackslash, ""));
    };
    let after = rest.as_str();
    let found = match c {
        // A single digit but zero would refer to a group.
        '1'..='7' if !after.starts_with(|c: char| c.is_digit(8)) => None,
        '0'..='7' => Some(octal(&text[1..])),
        'x' => return hexadecimal(text, after),
        'a' => Some((7, after)),
        'f' => Some((12, after)),
        'n' => Some((10, after)),
        'r' => Some((13, after)),
        't' => Some((9, after)),
        'v' => Some((11, after)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some((u32::from(c), after)),
        _ => None,
    };
    found.ok_or_else(|| invalid(text, after))
}

fn invalid(text: &str, after: &str) -> RegexError {
    RegexError::new(Kind::Escape, &text[..text.len() - after.len()])
}

/// Up to three digits.
fn octal(text: &str) -> (u32, &str) {
    let digits = text.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let value = text[..digits].bytes().fold(0, |value, digit| value * 8 + u32::from(digit - b'0'));
    (value, &text[digits..])
}

/// Two digits, or any number of them in braces.
fn hexadecimal<'t>(text: &'t str, after: &'t str) -> Result<(u32, &'t str), RegexError> {
    let mut rest = after.chars();
    let Some(first) = rest.next() else {
        return Err(invalid(text, after));
    };
    if first != '{' {
        let second = rest.next();
        let value = first.to_digit(16).zip(second.and_then(|second| second.to_digit(16)));
        let (high, low) = value.ok_or_else(|| invalid(text, rest.as_str()))?;
        return Ok((high * 16 + low, rest.as_str()));
    }
    let (mut value, mut digits) = (0, 0);
    loop {
        let Some(c) = rest.next() else {
            return Err(invalid(text, rest.as_str()));
        };
        if c == '}' {
            break;
        }
        let digit = c.to_digit(16).ok_or_else(|| invalid(text, rest.as_str()))?;
        value = value * 16 + digit;
        digits += 1;
        if value > MAX_CODE_POINT {
            return Err(invalid(text, rest.as_str()));
        }
    }
    if digits == 0 { Err(invalid(text, rest.as_str())) } else { Ok((value, rest.as_str())) }
}
