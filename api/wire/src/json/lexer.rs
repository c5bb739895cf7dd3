//! Tokens of a JSON text: strings, numbers, words and space.
//!
//! Invariants: every step moves forward; a string without escapes is borrowed from the text.
//!
//! Lists and maps are parsed by the caller.

use std::borrow::Cow;
use std::ops::Range;

use quorate_meta::Value;

use super::scan::plain_end;
use super::{Error, ErrorKind, MAX_BYTES};

/// A position in a text.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// The beginning of a text, after leading space.
    ///
    /// # Errors
    /// More bytes than [`MAX_BYTES`], or bytes that are not UTF-8.
    pub(crate) fn new(text: &'a [u8]) -> Result<Self, Error> {
        if text.len() > MAX_BYTES {
            return Err(Error { offset: MAX_BYTES, kind: ErrorKind::TooLarge });
        }
        let text = std::str::from_utf8(text)
            .map_err(|error| Error { offset: error.valid_up_to(), kind: ErrorKind::NotUtf8 })?;
        let mut lexer = Self { text, at: 0 };
        lexer.skip_space();
        Ok(lexer)
    }

    /// Checks that nothing but space is left.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.skip_space();
        if self.at < self.text.len() {
            Err(self.unexpected("after top-level value"))
        } else {
            Ok(())
        }
    }

    /// A string, at its opening quote.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.at += 1;
        let end = plain_end(self.text.as_bytes(), self.at);
        let plain = self.slice(self.at, end);
        self.at = end;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.unexpected("in string literal")),
            }
            let end = plain_end(self.text.as_bytes(), self.at);
            text.push_str(self.slice(self.at, end));
            self.at = end;
        }
    }

    /// A string, at its opening quote: where it is in the text when it has no escapes, else `None`,
    /// and what it says is appended.
    pub(crate) fn string_place(
        &mut self,
        unescaped: &mut Vec<u8>,
    ) -> Result<Option<Range<usize>>, Error> {
        let start = self.at + 1;
        self.at = plain_end(self.text.as_bytes(), start);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Some(start..self.at - 1));
        }
        let mut plain = start;
        loop {
            unescaped.extend_from_slice(&self.text.as_bytes()[plain..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(None);
                }
                Some(b'\\') => {
                    let char = self.escape()?;
                    unescaped.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => return Err(self.unexpected("in string literal")),
            }
            plain = self.at;
            self.at = plain_end(self.text.as_bytes(), plain);
        }
    }

    /// Steps over a value of which nothing but its end is looked for: brackets are counted.
    pub(crate) fn skip_value(&mut self) -> Result<(), Error> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => self.skip_string()?,
                Some(b'{' | b'[') => {
                    open += 1;
                    self.at += 1;
                    continue;
                }
                Some(b'}' | b']') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b',' | b':' | b' ' | b'\n' | b'\t' | b'\r') if open > 0 => {
                    self.at += 1;
                    continue;
                }
                Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => self.skip_word(),
                _ => return Err(self.unexpected("looking for beginning of value")),
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// Steps over a number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E')) {
            self.at += 1;
        }
    }

    fn skip_string(&mut self) -> Result<(), Error> {
        self.at += 1;
        loop {
            self.at = plain_end(self.text.as_bytes(), self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.at = (self.at + 2).min(self.text.len()),
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// Where the next byte is.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn escape(&mut self) -> Result<char, Error> {
        self.at += 1;
        let char = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(char)
    }

    fn unicode_escape(&mut self) -> Result<char, Error> {
        self.at += 1;
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) || !self.text[self.at..].starts_with("\\u") {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_first = self.at;
        self.at += 2;
        let second = self.hex4()?;
        if (0xdc00..0xe000).contains(&second) {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.at = after_first;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    /// A number: an integer where it is written as one and fits, else a float.
    pub(crate) fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.skip_digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let text = self.slice(start, self.at);
        if integer {
            if let Ok(value) = text.parse::<i64>() {
                return Ok(Value::Int(value));
            }
            if let Ok(value) = text.parse::<u64>() {
                return Ok(Value::UInt(value));
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Value::Float(value)),
            _ => Err(Error { offset: start, kind: ErrorKind::OutOfRange }),
        }
    }

    fn digits(&mut self, place: &'static str) -> Result<(), Error> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected(place));
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    /// `true`, `false` or `null`, with its value.
    pub(crate) fn word(&mut self, word: &'static str, value: Value) -> Result<Value, Error> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let place = match word {
                    "true" => "in literal true",
                    "false" => "in literal false",
                    _ => "in literal null",
                };
                return Err(self.unexpected(place));
            }
            self.at += 1;
        }
        Ok(value)
    }

    /// Steps over one byte.
    pub(crate) fn step(&mut self) {
        self.at += 1;
    }

    /// Steps over one byte and the space after it.
    pub(crate) fn bump(&mut self) {
        self.at += 1;
        self.skip_space();
    }

    /// Steps over space.
    pub(crate) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        &self.text[start..end]
    }

    /// The error about the next character.
    pub(crate) fn unexpected(&self, place: &'static str) -> Error {
        let next = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.error(next.map_or(ErrorKind::UnexpectedEnd, |char| ErrorKind::Unexpected(char, place)))
    }

    /// An error at this position.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error { offset: self.at, kind }
    }
}
