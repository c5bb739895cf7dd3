//! The JSON parser: recursive descent over checked UTF-8, one pass, bounded depth.
//!
//! Of duplicate fields the last one wins; their paths (`spec.items[0].name`) are reported in order
//! of appearance, up to `MAX_DUPLICATES`. Lone surrogate escapes become U+FFFD.

use std::borrow::Cow;

use quorate_meta::{Map, SmolStr, Value};

use super::lexer::Lexer;
use super::{Error, ErrorKind};

/// Largest text that is read, in bytes. Requests have a smaller limit of their own.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 256;
/// Duplicate fields that are reported, at most; further ones are dropped without a report.
pub const MAX_DUPLICATES: usize = 100;

/// Longest path of a duplicate field, in bytes; of a longer one the beginning is omitted.
const MAX_PATH_BYTES: usize = 1024;

const IN_VALUE: &str = "looking for beginning of value";
const IN_KEY: &str = "looking for beginning of object key string";

/// Reads one JSON text; also returns the paths of duplicate fields.
pub fn parse(text: &[u8]) -> Result<(Value, Vec<String>), Error> {
    let mut parser = JsonParser::new(text)?;
    let value = parser.value()?;
    parser.lexer.end()?;
    Ok((value, parser.duplicates))
}

pub(super) struct JsonParser<'a> {
    pub(super) lexer: Lexer<'a>,
    depth: usize,
    /// Scratch space for sorting, reused.
    order: Vec<usize>,
    duplicates: Vec<String>,
}

impl<'a> JsonParser<'a> {
    pub(super) fn new(text: &'a [u8]) -> Result<Self, Error> {
        let lexer = Lexer::new(text)?;
        Ok(Self { lexer, depth: 0, order: Vec::new(), duplicates: Vec::new() })
    }

    pub(super) fn value(&mut self) -> Result<Value, Error> {
        match self.lexer.peek() {
            Some(b'{') => self.map(),
            Some(b'[') => self.list(),
            Some(b'"') => self.lexer.string().map(|text| Value::String(text.into_owned())),
            Some(b'-' | b'0'..=b'9') => self.lexer.number(),
            Some(b't') => self.lexer.word("true", Value::Bool(true)),
            Some(b'f') => self.lexer.word("false", Value::Bool(false)),
            Some(b'n') => self.lexer.word("null", Value::Null),
            _ => Err(self.lexer.unexpected(IN_VALUE)),
        }
    }

    fn map(&mut self) -> Result<Value, Error> {
        self.enter()?;
        let mut entries: Vec<(SmolStr, Value)> = Vec::new();
        let mut sorted = true;
        if self.lexer.peek() == Some(b'}') {
            return self.leave(Value::Map(Map::new()));
        }
        loop {
            let key = SmolStr::from(self.key()?);
            let reported = self.duplicates.len();
            let value = self.value()?;
            self.prefix_duplicates(reported, &key);
            sorted = sorted && entries.last().is_none_or(|(last, _)| *last < key);
            entries.push((key, value));
            self.lexer.skip_space();
            match self.lexer.peek() {
                Some(b',') => self.lexer.bump(),
                Some(b'}') => break,
                _ => return Err(self.lexer.unexpected("after object key:value pair")),
            }
        }
        let entries = if sorted { entries } else { self.sort(entries) };
        self.leave(Value::Map(Map::from_entries(entries).0))
    }

    /// The key of an entry, up to its value.
    pub(super) fn key(&mut self) -> Result<Cow<'a, str>, Error> {
        if self.lexer.peek() != Some(b'"') {
            return Err(self.lexer.unexpected(IN_KEY));
        }
        let key = self.lexer.string()?;
        self.lexer.skip_space();
        if self.lexer.peek() != Some(b':') {
            return Err(self.lexer.unexpected("after object key"));
        }
        self.lexer.bump();
        Ok(key)
    }

    fn list(&mut self) -> Result<Value, Error> {
        self.enter()?;
        let mut items = Vec::new();
        if self.lexer.peek() == Some(b']') {
            return self.leave(Value::List(items));
        }
        loop {
            let reported = self.duplicates.len();
            let item = self.value()?;
            if self.duplicates.len() > reported {
                self.prefix_duplicates(reported, &format!("[{}]", items.len()));
            }
            items.push(item);
            self.lexer.skip_space();
            match self.lexer.peek() {
                Some(b',') => self.lexer.bump(),
                Some(b']') => break,
                _ => return Err(self.lexer.unexpected("after array element")),
            }
        }
        self.leave(Value::List(items))
    }

    /// Steps over the opening bracket.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.error(ErrorKind::TooDeep));
        }
        self.lexer.bump();
        Ok(())
    }

    /// Steps over the closing bracket.
    pub(super) fn leave<T>(&mut self, value: T) -> Result<T, Error> {
        self.depth -= 1;
        self.lexer.step();
        Ok(value)
    }

    /// Sorts by key; of equal keys the last one is kept and the later ones are reported where they
    /// appeared.
    fn sort(&mut self, mut entries: Vec<(SmolStr, Value)>) -> Vec<(SmolStr, Value)> {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..entries.len());
        order.sort_unstable_by(|left, right| {
            entries[*left].0.cmp(&entries[*right].0).then(left.cmp(right))
        });
        let equal = |pair: &[usize]| entries[pair[0]].0 == entries[pair[1]].0;
        let mut repeated: Vec<usize> =
            order.windows(2).filter(|pair| equal(pair)).map(|pair| pair[1]).collect();
        if !repeated.is_empty() {
            repeated.sort_unstable();
            for at in repeated {
                let key = &entries[at].0;
                if self.duplicates.len() < MAX_DUPLICATES
                    && !self.duplicates.iter().any(|other| other == key)
                {
                    self.duplicates.push(key.to_string());
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
        self.duplicates[reported..].iter_mut().for_each(|path| prefix(path, step));
    }
}

/// Puts a step before the path of a duplicate field, unless that becomes too long.
pub(crate) fn prefix(path: &mut String, step: &str) {
    if path.len() + step.len() < MAX_PATH_BYTES {
        let dot = if path.starts_with('[') { "" } else { "." };
        *path = format!("{step}{dot}{path}");
    }
}
