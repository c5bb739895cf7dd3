//! The lexer: text to tokens, longest match first.
//!
//! Invariants: every byte of the source belongs to a token, to white space or a comment, or to a reported error; the last
//! token is `End`. Not here: what literals mean (`literal`).

use super::token::{Token, TokenKind};

/// Characters that start no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LexicalError {
    /// First byte.
    pub(super) start: u32,
    /// Byte after the last.
    pub(super) end: u32,
    /// How many tokens stand before it.
    pub(super) tokens_before: u32,
}

/// Tokens and errors of a source.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    pub(super) errors: Vec<LexicalError>,
}

/// Splits a source into tokens.
pub(super) fn lex(source: &str) -> Lexed {
    let bytes = source.as_bytes();
    let mut lexed = Lexed { tokens: Vec::with_capacity(bytes.len() / 3 + 2), errors: Vec::new() };
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at +=
                    bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
            }
            _ => match token(bytes, at) {
                Ok((kind, end)) => {
                    lexed.tokens.push(Token { kind, start: at as u32, end: end as u32 });
                    at = end;
                }
                Err(failed) => {
                    let end = failed + source[failed..].chars().next().map_or(0, char::len_utf8);
                    let tokens_before = lexed.tokens.len() as u32;
                    lexed.errors.push(LexicalError {
                        start: at as u32,
                        end: end as u32,
                        tokens_before,
                    });
                    at = end;
                }
            },
        }
    }
    lexed.tokens.push(Token { kind: TokenKind::End, start: at as u32, end: at as u32 });
    lexed
}

/// The longest token that starts at a byte, as its kind and end; or the byte of the character at which none can go on.
fn token(bytes: &[u8], at: usize) -> Result<(TokenKind, usize), usize> {
    use TokenKind as K;
    let next = bytes.get(at + 1).copied();
    let one = |kind| Ok((kind, at + 1));
    let or_equals = |equals, alone| {
        if next == Some(b'=') { (equals, at + 2) } else { (alone, at + 1) }
    };
    let doubled = |kind| {
        if next == Some(bytes[at]) { Ok((kind, at + 2)) } else { Err(at + 1) }
    };
    match bytes[at] {
        b'[' => one(K::LeftBracket),
        b']' => one(K::RightBracket),
        b'{' => one(K::LeftBrace),
        b'}' => one(K::RightBrace),
        b'(' => one(K::LeftParen),
        b')' => one(K::RightParen),
        b'.' if next.is_some_and(|byte| byte.is_ascii_digit()) => {
            Ok((K::Float, fraction(bytes, at)))
        }
        b'.' => one(K::Dot),
        b',' => one(K::Comma),
        b'-' => one(K::Minus),
        b'?' => one(K::Question),
        b':' => one(K::Colon),
        b'+' => one(K::Plus),
        b'*' => one(K::Star),
        b'/' => one(K::Slash),
        b'%' => one(K::Percent),
        b'!' => Ok(or_equals(K::NotEquals, K::Exclamation)),
        b'<' => Ok(or_equals(K::LessEquals, K::Less)),
        b'>' => Ok(or_equals(K::GreaterEquals, K::Greater)),
        b'=' => doubled(K::Equals),
        b'&' => doubled(K::And),
        b'|' => doubled(K::Or),
        b'0'..=b'9' => Ok(number(bytes, at)),
        b'"' | b'\'' => Ok((K::String, quoted(bytes, at, false)?)),
        b'`' => escaped_identifier(bytes, at),
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => Ok(word(bytes, at)),
        _ => Err(at),
    }
}

fn digits(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The end of `.1e5` at a point before digits.
fn fraction(bytes: &[u8], point: usize) -> usize {
    let end = digits(bytes, point + 1);
    exponent(bytes, end).unwrap_or(end)
}

fn exponent(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return None;
    }
    let first = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
    let end = digits(bytes, first.min(bytes.len()));
    (end > first).then_some(end)
}

fn number(bytes: &[u8], at: usize) -> (TokenKind, usize) {
    let unsigned = |end: usize| match bytes.get(end) {
        Some(b'u' | b'U') => (TokenKind::Uint, end + 1),
        _ => (TokenKind::Int, end),
    };
    if bytes[at] == b'0' && bytes.get(at + 1) == Some(&b'x') {
        let end =
            at + 2 + bytes[at + 2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if end > at + 2 {
            return unsigned(end);
        }
    }
    let end = digits(bytes, at);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        return (TokenKind::Float, fraction(bytes, end));
    }
    match exponent(bytes, end) {
        Some(end) => (TokenKind::Float, end),
        None => unsigned(end),
    }
}

/// An identifier, a keyword, or a literal with a prefix: `r''`, `b''`, `br''`.
fn word(bytes: &[u8], at: usize) -> (TokenKind, usize) {
    let is_quote = |index: usize| matches!(bytes.get(index), Some(b'"' | b'\''));
    let is_raw = |index: usize| matches!(bytes.get(index), Some(b'r' | b'R'));
    let is_bytes = matches!(bytes[at], b'b' | b'B');
    let prefixed = match (is_bytes, is_raw(at), is_raw(at + 1)) {
        (true, _, _) if is_quote(at + 1) => {
            quoted(bytes, at + 1, false).ok().map(|end| (TokenKind::Bytes, end))
        }
        (true, _, true) if is_quote(at + 2) => {
            quoted(bytes, at + 2, true).ok().map(|end| (TokenKind::Bytes, end))
        }
        (_, true, _) if is_quote(at + 1) => {
            quoted(bytes, at + 1, true).ok().map(|end| (TokenKind::String, end))
        }
        _ => None,
    };
    if let Some(literal) = prefixed {
        return literal;
    }
    let length = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    let kind = match &bytes[at..at + length] {
        b"in" => TokenKind::In,
        b"true" => TokenKind::True,
        b"false" => TokenKind::False,
        b"null" => TokenKind::Null,
        _ => TokenKind::Identifier,
    };
    (kind, at + length)
}

fn escaped_identifier(bytes: &[u8], at: usize) -> Result<(TokenKind, usize), usize> {
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b' ')
    };
    let end = at + 1 + bytes[at + 1..].iter().take_while(|byte| is_part(byte)).count();
    if bytes.get(end) == Some(&b'`') && end > at + 1 {
        Ok((TokenKind::EscapedIdentifier, end + 1))
    } else {
        Err(end)
    }
}

/// The end of a literal whose first quote is at a byte; or the byte of the character that cannot stand there.
fn quoted(bytes: &[u8], open: usize, raw: bool) -> Result<usize, usize> {
    let quote = bytes[open];
    if bytes[open..].starts_with(&[quote, quote, quote]) {
        return Ok(triple_quoted(bytes, open, raw).unwrap_or(open + 2));
    }
    let mut at = open + 1;
    loop {
        match bytes.get(at) {
            Some(byte) if *byte == quote => return Ok(at + 1),
            None | Some(b'\n' | b'\r') => return Err(at),
            Some(b'\\') if !raw => at = escape(bytes, at)?,
            Some(_) => at += 1,
        }
    }
}

/// The end of a literal in triple quotes, when it has one.
fn triple_quoted(bytes: &[u8], open: usize, raw: bool) -> Option<usize> {
    let close = [bytes[open]; 3];
    let mut at = open + 3;
    while at < bytes.len() {
        if bytes[at..].starts_with(&close) {
            return Some(at + 3);
        }
        at = if bytes[at] == b'\\' && !raw { escape(bytes, at).ok()? } else { at + 1 };
    }
    None
}

/// The end of an escape sequence, or the byte of the character that cannot stand in it.
fn escape(bytes: &[u8], backslash: usize) -> Result<usize, usize> {
    let first = backslash + 1;
    let (count, is_digit): (usize, fn(&u8) -> bool) = match bytes.get(first) {
        Some(
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`',
        ) => {
            return Ok(first + 1);
        }
        Some(b'x' | b'X') => (2, u8::is_ascii_hexdigit),
        Some(b'u') => (4, u8::is_ascii_hexdigit),
        Some(b'U') => (8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => (2, |byte| matches!(byte, b'0'..=b'7')),
        _ => return Err(first),
    };
    for at in first + 1..first + 1 + count {
        if !bytes.get(at).is_some_and(is_digit) {
            return Err(at);
        }
    }
    Ok(first + 1 + count)
}
