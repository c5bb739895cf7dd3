//! The transcoder from JSON text to CBOR, in one pass over the text and without a tree.
//!
//! The head of a map has the number of its entries, and keys are in the order of their encoded
//! bytes, which is not that of JSON. So entries are appended first and sorted where the order
//! differs; the head is written last, into a byte that was reserved for it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciborium_ll::Header;
use quorate_meta::Value;
use quorate_schema::{Graph, Scalar, Shape, TypeId};

use super::writer;
use crate::json::{Error, ErrorKind, Lexer, MAX_DEPTH};

/// The tag of byte strings that are base64 in JSON.
const AS_BASE64: u64 = 22;

/// The type of a text, by which binary fields and floats are known.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'g> {
    /// The graph of the type.
    pub graph: &'g Graph,
    /// The type.
    pub ty: TypeId,
}

/// Appends a whole body: the tag of self-described CBOR and the data item. Without a schema, binary
/// fields stay base64 text.
///
/// # Errors
/// Text that is not JSON, nested too deeply or too large.
pub fn encode(schema: Option<Schema<'_>>, json: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    out.extend_from_slice(&writer::SELF_DESCRIBED);
    encode_item(schema, json, out)
}

/// Appends the data item alone, as a part of another one.
///
/// # Errors
/// As [`encode`].
pub fn encode_item(
    schema: Option<Schema<'_>>,
    json: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let graph = schema.map(|schema| schema.graph);
    let shape = schema.map(|schema| Shape::Message(schema.ty));
    let lexer = Lexer::new(json)?;
    let mut transcoder =
        CborTranscoder { lexer, graph, depth: 0, entries: Vec::new(), moved: Vec::new() };
    transcoder.value(shape.as_ref(), out)?;
    transcoder.lexer.end()
}

struct CborTranscoder<'a, 'g> {
    lexer: Lexer<'a>,
    graph: Option<&'g Graph>,
    depth: usize,
    /// The entries of the maps that are being written, the innermost last.
    entries: Vec<Entry>,
    /// Scratch space for moving entries.
    moved: Vec<u8>,
}

/// Where an entry of a map lies in the output.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    value: usize,
    end: usize,
}

impl<'g> CborTranscoder<'_, 'g> {
    fn value(&mut self, shape: Option<&Shape>, out: &mut Vec<u8>) -> Result<(), Error> {
        match self.lexer.peek() {
            Some(b'{') => self.nested(|inner| inner.map(shape, out)),
            Some(b'[') => self.nested(|inner| inner.list(shape, out)),
            Some(b'"') => self.string(shape, out),
            Some(b't') => {
                self.lexer.word("true", Value::Bool(true)).map(|value| writer::scalar(&value, out))
            }
            Some(b'f') => self
                .lexer
                .word("false", Value::Bool(false))
                .map(|value| writer::scalar(&value, out)),
            Some(b'n') => {
                self.lexer.word("null", Value::Null).map(|value| writer::scalar(&value, out))
            }
            _ => self.number(shape, out),
        }
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.error(ErrorKind::TooDeep));
        }
        self.lexer.bump();
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn map(&mut self, shape: Option<&Shape>, out: &mut Vec<u8>) -> Result<(), Error> {
        let (start, first) = (out.len(), self.entries.len());
        out.push(0);
        while self.lexer.peek() != Some(b'}') {
            if self.lexer.peek() != Some(b'"') {
                return Err(self.lexer.unexpected("looking for beginning of object key string"));
            }
            let key = self.lexer.string()?;
            let at = out.len();
            writer::text(&key, out);
            self.lexer.skip_space();
            if self.lexer.peek() != Some(b':') {
                return Err(self.lexer.unexpected("after object key"));
            }
            self.lexer.bump();
            let value = out.len();
            self.value(self.member(shape, &key), out)?;
            self.entries.push(Entry { start: at, value, end: out.len() });
            self.separator(b'}', "after object key:value pair")?;
        }
        self.lexer.step();
        self.settle(first, start, out);
        Ok(())
    }

    /// Sorts the entries of a map and writes its head into the reserved byte. Of equal keys the
    /// last one stays.
    fn settle(&mut self, first: usize, start: usize, out: &mut Vec<u8>) {
        let entries = &mut self.entries[first..];
        let key = |entry: &Entry| &out[entry.start..entry.value];
        let mut count = entries.len();
        if !entries.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])) {
            entries.sort_by(|left, right| key(left).cmp(key(right)));
            self.moved.clear();
            for (at, entry) in entries.iter().enumerate() {
                if entries.get(at + 1).is_some_and(|next| key(next) == key(entry)) {
                    count -= 1;
                } else {
                    self.moved.extend_from_slice(&out[entry.start..entry.end]);
                }
            }
            out.truncate(start + 1);
            out.extend_from_slice(&self.moved);
        }
        self.entries.truncate(first);
        put_head(start, Header::Map(Some(count)), out);
    }

    fn list(&mut self, shape: Option<&Shape>, out: &mut Vec<u8>) -> Result<(), Error> {
        let inner = match shape {
            Some(Shape::List(inner)) => Some(&**inner),
            _ => None,
        };
        let (start, mut count) = (out.len(), 0);
        out.push(0);
        while self.lexer.peek() != Some(b']') {
            self.value(inner, out)?;
            count += 1;
            self.separator(b']', "after array element")?;
        }
        self.lexer.step();
        put_head(start, Header::Array(Some(count)), out);
        Ok(())
    }

    /// Consumes a comma before a further item; the end of a list or map stays.
    fn separator(&mut self, end: u8, place: &'static str) -> Result<(), Error> {
        self.lexer.skip_space();
        match self.lexer.peek() {
            Some(b',') => {
                self.lexer.bump();
                if self.lexer.peek() == Some(end) {
                    Err(self.lexer.unexpected("looking for beginning of value"))
                } else {
                    Ok(())
                }
            }
            Some(byte) if byte == end => Ok(()),
            _ => Err(self.lexer.unexpected(place)),
        }
    }

    fn string(&mut self, shape: Option<&Shape>, out: &mut Vec<u8>) -> Result<(), Error> {
        let text = self.lexer.string()?;
        if matches!(shape, Some(Shape::Scalar(Scalar::Bytes)))
            && let Ok(bytes) = STANDARD.decode(text.as_bytes())
        {
            writer::head(Header::Tag(AS_BASE64), out);
            writer::bytes(&bytes, out);
        } else {
            writer::text(&text, out);
        }
        Ok(())
    }

    fn number(&mut self, shape: Option<&Shape>, out: &mut Vec<u8>) -> Result<(), Error> {
        let at_number = matches!(self.lexer.peek(), Some(b'-' | b'0'..=b'9'));
        if !at_number {
            return Err(self.lexer.unexpected("looking for beginning of value"));
        }
        let number = self.lexer.number()?;
        match (shape, number.as_f64()) {
            (Some(Shape::Scalar(Scalar::Double)), Some(double)) => {
                writer::scalar(&Value::Float(double), out)
            }
            _ => writer::scalar(&number, out),
        }
        Ok(())
    }

    /// The form of a member of a map or message.
    fn member<'s>(&self, shape: Option<&'s Shape>, name: &str) -> Option<&'s Shape>
    where
        'g: 's,
    {
        match shape? {
            Shape::Map(inner) => Some(&**inner),
            Shape::Message(id) => self.graph?.property(*id, name).map(|field| &field.shape),
            Shape::Scalar(_) | Shape::List(_) => None,
        }
    }
}

/// Writes a head where one byte was reserved; nearly every head is one byte.
fn put_head(start: usize, header: Header, out: &mut Vec<u8>) {
    let end = out.len();
    writer::head(header, out);
    if out.len() == end + 1 {
        out.swap_remove(start);
    } else {
        let head = out.split_off(end);
        out.splice(start..=start, head);
    }
}
