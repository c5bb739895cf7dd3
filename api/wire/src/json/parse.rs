//! The reader: recursive descent over checked UTF-8, one pass, depth bounded.
//!
//! Of duplicate fields the last one wins; their paths (`spec.items[0].name`) are reported in order of appearance, up to
//! `MAX_DUPLICATES`. Lone surrogate escapes become U+FFFD.

use quorate_meta::{Map, Value};

use super::scan::plain_end;
use super::{Error, ErrorKind};

/// Largest text that is read, in bytes. Requests have a smaller limit of their own.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 256;
/// Most duplicate fields that are reported; further ones are dropped like the others, without being named.
pub const MAX_DUPLICATES: usize = 100;

/// Longest path of a duplicate field, in bytes; beyond it, what comes before is left out.
const MAX_PATH_BYTES: usize = 1024;

const IN_VALUE: &str = "looking for beginning of value";
const IN_KEY: &str = "looking for beginning of object key string";

/// Reads one JSON text; the second part of the answer are the paths of fields that appear more than once.
pub fn parse(text: &[u8]) -> Result<(Value, Vec<String>), Error> {
    if text.len() > MAX_BYTES {
        return Err(Error { offset: MAX_BYTES, kind: ErrorKind::TooLarge });
    }
    let text =
        std::str::from_utf8(text).map_err(|error| Error { offset: error.valid_up_to(), kind: ErrorKind::NotUtf8 })?;
    let mut parser = Parser { text, at: 0, depth: 0, order: Vec::new(), duplicates: Vec::new() };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.unexpected("after top-level value"));
    }
    Ok((value, parser.duplicates))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Scratch space for sorting, reused.
    order: Vec<usize>,
    duplicates: Vec<String>,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Result<Value, Error> {
        match self.peek() {
            Some(b'{') => self.map(),
            Some(b'[') => self.list(),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected(IN_VALUE)),
        }
    }

    fn map(&mut self) -> Result<Value, Error> {
        self.enter()?;
        let mut entries: Vec<(String, Value)> = Vec::new();
        let mut sorted = true;
        if self.peek() == Some(b'}') {
            return self.leave(Value::Map(Map::new()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(IN_KEY));
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.bump();
            let reported = self.duplicates.len();
            let value = self.value()?;
            self.prefix_duplicates(reported, &key);
            sorted = sorted && entries.last().is_none_or(|(last, _)| *last < key);
            entries.push((key, value));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.bump(),
                Some(b'}') => break,
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
        let entries = if sorted { entries } else { self.sort(entries) };
        self.leave(Value::Map(Map::from_entries(entries).0))
    }

    fn list(&mut self) -> Result<Value, Error> {
        self.enter()?;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            return self.leave(Value::List(items));
        }
        loop {
            let reported = self.duplicates.len();
            let item = self.value()?;
            if self.duplicates.len() > reported {
                self.prefix_duplicates(reported, &format!("[{}]", items.len()));
            }
            items.push(item);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.bump(),
                Some(b']') => break,
                _ => return Err(self.unexpected("after array element")),
            }
        }
        self.leave(Value::List(items))
    }

    /// Steps over the opening bracket.
    fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(ErrorKind::TooDeep));
        }
        self.bump();
        Ok(())
    }

    /// Steps over the closing bracket.
    fn leave(&mut self, value: Value) -> Result<Value, Error> {
        self.depth -= 1;
        self.at += 1;
        Ok(value)
    }

    /// Sorts by key; of equal keys the last one is kept and the later ones are reported where they appeared.
    fn sort(&mut self, mut entries: Vec<(String, Value)>) -> Vec<(String, Value)> {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..entries.len());
        order.sort_unstable_by(|left, right| entries[*left].0.cmp(&entries[*right].0).then(left.cmp(right)));
        let equal = |pair: &[usize]| entries[pair[0]].0 == entries[pair[1]].0;
        let mut repeated: Vec<usize> = order.windows(2).filter(|pair| equal(pair)).map(|pair| pair[1]).collect();
        if !repeated.is_empty() {
            repeated.sort_unstable();
            for at in repeated {
                let key = &entries[at].0;
                if self.duplicates.len() < MAX_DUPLICATES && !self.duplicates.contains(key) {
                    self.duplicates.push(key.clone());
                }
            }
            order.dedup_by(|later, kept| {
                let same = entries[*later].0 == entries[*kept].0;
                if same {
                    *kept = *later;
                }
                same
            });
        }
        let sorted = order.iter().map(|at| std::mem::take(&mut entries[*at])).collect();
        self.order = order;
        sorted
    }

    /// Puts `step` before the paths reported since there were `reported` of them.
    fn prefix_duplicates(&mut self, reported: usize, step: &str) {
        for path in self.duplicates[reported..].iter_mut().filter(|path| path.len() + step.len() < MAX_PATH_BYTES) {
            let dot = if path.starts_with('[') { "" } else { "." };
            *path = format!("{step}{dot}{path}");
        }
    }

    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let end = plain_end(self.text.as_bytes(), self.at);
        let plain = self.slice(self.at, end);
        self.at = end;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(plain.to_owned());
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.unexpected("in string literal")),
            }
            let end = plain_end(self.text.as_bytes(), self.at);
            text.push_str(self.slice(self.at, end));
            self.at = end;
        }
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

    fn number(&mut self) -> Result<Value, Error> {
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

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, Error> {
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

    /// Steps over one byte and the space after it.
    fn bump(&mut self) {
        self.at += 1;
        self.skip_space();
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        &self.text[start..end]
    }

    fn unexpected(&self, place: &'static str) -> Error {
        let next = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.error(next.map_or(ErrorKind::UnexpectedEnd, |char| ErrorKind::Unexpected(char, place)))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error { offset: self.at, kind }
    }
}
