//! The protobuf envelope (`runtime.Unknown`): a prefix of four bytes and a message with the
//! object's type and bytes.

use quorate_meta::well_known::PROTOBUF_MAGIC;

use super::reader::ProtobufReader;
use super::{Error, MAX_BYTES, Problem, writer};

const TYPE_META: u32 = 1;
const RAW: u32 = 2;
const CONTENT_ENCODING: u32 = 3;
const CONTENT_TYPE: u32 = 4;

const API_VERSION: u32 = 1;
const KIND: u32 = 2;

/// The type of an object and its message, borrowed from the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// Group and version as the sender names them; may be empty.
    pub api_version: &'a str,
    /// Kind as the sender names it; may be empty.
    pub kind: &'a str,
    /// The object's message.
    pub raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Opens a body. The content type in the envelope is ignored.
    ///
    /// # Errors
    /// The prefix is missing, nothing follows it, the message is malformed or too large, or its
    /// content is encoded once more.
    pub fn read(body: &'a [u8]) -> Result<Self, Error> {
        if body.len() > MAX_BYTES {
            return Err(Problem::TooLarge.into());
        }
        let unknown = body.strip_prefix(&PROTOBUF_MAGIC).ok_or(Problem::Prefix)?;
        if unknown.is_empty() {
            return Err(Problem::Truncated.into());
        }
        let mut envelope = Self::default();
        let mut reader = ProtobufReader::new(unknown);
        while let Some((number, payload)) = reader.field()? {
            match number {
                TYPE_META => envelope.read_type(payload.bytes()?)?,
                RAW => envelope.raw = payload.bytes()?,
                CONTENT_ENCODING => match payload.text()? {
                    "" => {}
                    other => {
                        return Err(
                            Problem::Value(format!("unknown content encoding {other:?}")).into()
                        );
                    }
                },
                CONTENT_TYPE => drop(payload.text()?),
                _ => {}
            }
        }
        Ok(envelope)
    }

    /// The body with this envelope.
    pub fn write(&self) -> Vec<u8> {
        let (mut out, tail) = self.write_around(self.raw.len() as u64);
        out.extend_from_slice(self.raw);
        out.extend_from_slice(&tail);
        out
    }

    /// The bytes before and after a message of `length` bytes in the body.
    pub(super) fn write_around(&self, length: u64) -> (Vec<u8>, Vec<u8>) {
        let mut head =
            Vec::with_capacity(self.raw.len() + self.api_version.len() + self.kind.len() + 32);
        head.extend_from_slice(&PROTOBUF_MAGIC);
        let mut type_meta = Vec::new();
        writer::bytes(API_VERSION, self.api_version.as_bytes(), &mut type_meta);
        writer::bytes(KIND, self.kind.as_bytes(), &mut type_meta);
        writer::bytes(TYPE_META, &type_meta, &mut head);
        writer::bytes_head(RAW, length, &mut head);
        let mut tail = Vec::new();
        writer::bytes(CONTENT_ENCODING, b"", &mut tail);
        writer::bytes(CONTENT_TYPE, b"", &mut tail);
        (head, tail)
    }

    fn read_type(&mut self, type_meta: &'a [u8]) -> Result<(), Error> {
        let mut reader = ProtobufReader::new(type_meta);
        while let Some((number, payload)) = reader.field()? {
            match number {
                API_VERSION => self.api_version = payload.text()?,
                KIND => self.kind = payload.text()?,
                _ => {}
            }
        }
        Ok(())
    }
}
