//! The lowest layer of the CBOR reader: heads and strings, cut from the body.
//!
//! Invariant: every step moves forward; a claimed length is compared with the rest of the body
//! before it is used.

use std::borrow::Cow;

use ciborium_ll::{Decoder, Error, Header};

use super::Problem;

/// The byte that ends an indefinite length.
const BREAK: u8 = 0xff;
/// Simple values below this one have heads of one byte.
const FIRST_LONG_SIMPLE: u8 = 32;

/// The unread rest of a body.
pub(super) struct CborReader<'a> {
    rest: &'a [u8],
}

impl<'a> CborReader<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// The number of unread bytes.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next head.
    pub(super) fn header(&mut self) -> Result<Header, Problem> {
        let mut decoder = Decoder::from(self.rest);
        let header = decoder.pull().map_err(|error| match error {
            Error::Io(_) => Problem::Truncated,
            Error::Syntax(_) => Problem::Malformed,
        })?;
        let length = decoder.offset();
        if matches!(header, Header::Simple(simple) if simple < FIRST_LONG_SIMPLE && length > 1) {
            return Err(Problem::Malformed);
        }
        self.take(length)?;
        Ok(header)
    }

    /// Whether an indefinite length ends here; the break is consumed.
    pub(super) fn at_break(&mut self) -> bool {
        let Some((&BREAK, rest)) = self.rest.split_first() else {
            return false;
        };
        self.rest = rest;
        true
    }

    /// The content of a byte string whose head has been read.
    pub(super) fn bytes(&mut self, length: Option<usize>) -> Result<Cow<'a, [u8]>, Problem> {
        let Some(length) = length else {
            let mut whole = Vec::new();
            while !self.at_break() {
                let Header::Bytes(Some(length)) = self.header()? else {
                    return Err(Problem::Malformed);
                };
                whole.extend_from_slice(self.take(length)?);
            }
            return Ok(Cow::Owned(whole));
        };
        self.take(length).map(Cow::Borrowed)
    }

    /// The content of a text string whose head has been read. Each part of an indefinite one is
    /// text by itself.
    pub(super) fn text(&mut self, length: Option<usize>) -> Result<Cow<'a, str>, Problem> {
        let Some(length) = length else {
            let mut whole = String::new();
            while !self.at_break() {
                let Header::Text(Some(length)) = self.header()? else {
                    return Err(Problem::Malformed);
                };
                whole.push_str(str::from_utf8(self.take(length)?).map_err(|_| Problem::NotUtf8)?);
            }
            return Ok(Cow::Owned(whole));
        };
        str::from_utf8(self.take(length)?).map(Cow::Borrowed).map_err(|_| Problem::NotUtf8)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(head)
    }
}
