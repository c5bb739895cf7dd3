//! The reader: one data item to a tree, depth bounded.
//!
//! | CBOR | JSON |
//! |---|---|
//! | integers from -2^63 to 2^64-1 | number |
//! | finite floats of any width | number |
//! | byte and text strings in UTF-8 | string |
//! | byte string with tag 21, 22 or 23 | string: base64url, base64 or base16 of the bytes |
//! | text with tag 0 | string: the RFC 3339 time as it stands |
//! | number with tag 1 | string: that many seconds since 1970 as an RFC 3339 time in UTC |
//! | true, false, null | the same |
//! | arrays, maps with string keys | the same |
//! | any other tag | what it encloses; big integers (2, 3) are refused |

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ciborium_ll::{Header, simple, tag};
use quorate_meta::{Map, SmolStr, Time, Value};

use super::reader::CborReader;
use super::{Error, Problem};
use crate::json;

/// Largest body that is read, in bytes. Requests have a smaller limit of their own.
pub const MAX_BYTES: usize = json::MAX_BYTES;
/// Deepest nesting of arrays, maps and tags.
pub const MAX_DEPTH: usize = json::MAX_DEPTH;
/// Most data items in one body: an item may be a single byte, and its node in the tree is much
/// larger.
pub const MAX_NODES: usize = 1_000_000;

/// An RFC 3339 time as text.
const TIME_TEXT: u64 = 0;
/// Seconds since 1970.
const TIME_NUMBER: u64 = 1;
/// Byte strings that are base64url, base64 or base16 in JSON.
const AS_BASE64URL: u64 = 21;
const AS_BASE64: u64 = 22;
const AS_BASE16: u64 = 23;
/// Room that is made for an array or map before its items are seen.
const FIRST_ITEMS: usize = 16;

/// Reads a body of exactly one data item.
///
/// # Errors
/// The first malformed or unfit part.
pub fn parse(body: &[u8]) -> Result<Value, Error> {
    let mut parser = CborParser { reader: CborReader::new(body), depth: 0, nodes: 0 };
    parser
        .whole(body.len())
        .map_err(|problem| Error { offset: body.len() - parser.reader.left(), problem })
}

struct CborParser<'a> {
    reader: CborReader<'a>,
    depth: usize,
    nodes: usize,
}

impl<'a> CborParser<'a> {
    fn whole(&mut self, length: usize) -> Result<Value, Problem> {
        if length > MAX_BYTES {
            return Err(Problem::TooLarge);
        }
        let value = self.value()?;
        if self.reader.left() == 0 { Ok(value) } else { Err(Problem::Trailing) }
    }

    fn value(&mut self) -> Result<Value, Problem> {
        let header = self.reader.header()?;
        self.item(header)
    }

    /// The item of a head that has been read.
    fn item(&mut self, header: Header) -> Result<Value, Problem> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Problem::TooMany);
        }
        match header {
            Header::Positive(number) => Ok(Value::from(number)),
            Header::Negative(number) => match i64::try_from(number) {
                Ok(number) => Ok(Value::Int(-1 - number)),
                Err(_) => Err(Problem::Value("integer is below the least one of 64 bits")),
            },
            Header::Float(number) if number.is_finite() => Ok(Value::Float(number)),
            Header::Float(_) => Err(Problem::Value("number is not finite")),
            Header::Simple(simple::FALSE) => Ok(Value::Bool(false)),
            Header::Simple(simple::TRUE) => Ok(Value::Bool(true)),
            Header::Simple(simple::NULL) => Ok(Value::Null),
            Header::Simple(_) => {
                Err(Problem::Value("simple value is none of true, false and null"))
            }
            Header::Bytes(_) | Header::Text(_) => {
                self.string(header).map(|text| Value::String(text.into_owned()))
            }
            Header::Array(length) => self.nested(|parser| parser.array(length)),
            Header::Map(length) => self.nested(|parser| parser.map(length)),
            Header::Tag(tag) => self.nested(|parser| parser.tagged(tag)),
            Header::Break => Err(Problem::Break),
        }
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Value, Problem>,
    ) -> Result<Value, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem::TooDeep);
        }
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self, length: Option<usize>) -> Result<Value, Problem> {
        let mut items = Vec::with_capacity(length.unwrap_or_default().min(FIRST_ITEMS));
        while !self.is_over(length, items.len()) {
            items.push(self.value()?);
        }
        Ok(Value::List(items))
    }

    fn map(&mut self, length: Option<usize>) -> Result<Value, Problem> {
        let mut entries = Vec::with_capacity(length.unwrap_or_default().min(FIRST_ITEMS));
        while !self.is_over(length, entries.len()) {
            let header = self.reader.header()?;
            let key = SmolStr::from(self.string(header)?);
            entries.push((key, self.value()?));
        }
        let (map, mut duplicates) = Map::from_entries(entries);
        if duplicates.is_empty() {
            Ok(Value::Map(map))
        } else {
            Err(Problem::Duplicate(duplicates.swap_remove(0).into()))
        }
    }

    /// Whether an array or map that has `read` items so far is over.
    fn is_over(&mut self, length: Option<usize>, read: usize) -> bool {
        length.map_or_else(|| self.reader.at_break(), |length| read == length)
    }

    fn string(&mut self, header: Header) -> Result<Cow<'a, str>, Problem> {
        match header {
            Header::Text(length) => self.reader.text(length),
            Header::Bytes(length) => match self.reader.bytes(length)? {
                Cow::Borrowed(bytes) => {
                    str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| Problem::NotUtf8)
                }
                Cow::Owned(bytes) => {
                    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Problem::NotUtf8)
                }
            },
            Header::Break => Err(Problem::Break),
            _ => Err(Problem::Key),
        }
    }

    fn tagged(&mut self, tag: u64) -> Result<Value, Problem> {
        match (tag, self.reader.header()?) {
            (tag::BIGPOS | tag::BIGNEG, _) => Err(Problem::Value("integer is longer than 64 bits")),
            (AS_BASE64, Header::Bytes(length)) => {
                Ok(STANDARD.encode(self.reader.bytes(length)?).into())
            }
            (AS_BASE64URL, Header::Bytes(length)) => {
                Ok(URL_SAFE_NO_PAD.encode(self.reader.bytes(length)?).into())
            }
            (AS_BASE16, Header::Bytes(length)) => Ok(base16(&self.reader.bytes(length)?).into()),
            (TIME_TEXT, header) => time_text(self.item(header)?),
            (TIME_NUMBER, header) => time_number(&self.item(header)?),
            (_, header) => self.item(header),
        }
    }
}

fn base16(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|half| char::from(b"0123456789ABCDEF"[usize::from(half)]))
        .collect()
}

fn time_text(value: Value) -> Result<Value, Problem> {
    match value.as_str().map(Time::parse) {
        Some(Ok(_)) => Ok(value),
        _ => Err(Problem::Value("tag 0 encloses no RFC 3339 time")),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; what does not fit is no time"
)]
fn time_number(value: &Value) -> Result<Value, Problem> {
    let time = match value {
        Value::Int(seconds) => Time::from_unix(*seconds, 0),
        Value::Float(seconds) => {
            Time::from_unix(seconds.floor() as i64, ((seconds - seconds.floor()) * 1e6) as u32)
        }
        _ => None,
    };
    let time = time.ok_or(Problem::Value("tag 1 encloses no time of the years 0 to 9999"))?;
    Ok(Value::from(if time.unix().1 == 0 { time.seconds() } else { time.microseconds() }))
}
