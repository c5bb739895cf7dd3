//! Parser events of the first document of a text.
//!
//! Invariants: the text that the parser gets is UTF-8. Text in UTF-16 with a byte order mark is
//! converted before. The parser gets a line break after a last line without one, because its scanner
//! panics on a token that the end of the text cuts off; a block scalar that ends there does not have
//! it.

use std::borrow::Cow;
use std::io::{BufReader, Chain, Read};

use libyaml_safer::{Event, EventData, Parser, ScalarStyle};

use super::error::Error;

/// Bytes of text that the parser looks at ahead.
const READ_BYTES: usize = 16 * 1024;

/// The events of a text, one after the other.
pub(super) struct Events<'t> {
    parser: Parser<BufReader<Chain<&'t [u8], &'static [u8]>>>,
    /// The length of a text whose last line has no break.
    unbroken: Option<u64>,
}

impl<'t> Events<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut parser = Parser::new();
        parser.set_encoding(libyaml_safer::Encoding::Utf8);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_broken = text.is_empty() || text.ends_with(['\n', '\r']);
        let end: &[u8] = if is_broken { b"" } else { b"\n" };
        let input = text.as_bytes().chain(end);
        parser.set_input(BufReader::with_capacity(READ_BYTES, input));
        let unbroken = (!is_broken).then(|| u64::try_from(text.len()).unwrap_or(u64::MAX));
        Self { parser, unbroken }
    }

    /// The next event; after the end of the stream nothing may be asked for.
    pub(super) fn next_event(&mut self) -> Result<Event, Error> {
        let parsed = self.parser.parse();
        let mut event = parsed.map_err(|error| Error::grammar(&error, self.unbroken))?;
        if let Some(length) = self.unbroken
            && event.end_mark.index >= length
            && let EventData::Scalar { value, style, .. } = &mut event.data
            && matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
            && value.ends_with('\n')
        {
            value.pop();
        }
        Ok(event)
    }
}

/// The bytes as text.
pub(super) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let leads = |byte: &u8| byte.is_ascii() || matches!(byte, 0xc0..=0xf7);
        Error::yaml(if error.error_len().is_none() {
            "incomplete UTF-8 octet sequence"
        } else if bytes.get(error.valid_up_to()).is_none_or(leads) {
            "invalid trailing UTF-8 octet"
        } else {
            "invalid leading UTF-8 octet"
        })
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'_, str>, Error> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::yaml("incomplete UTF-16 character"));
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .collect::<Result<String, _>>()
        .map(Cow::Owned)
        .map_err(|_| Error::yaml("unexpected low surrogate area"))
}
