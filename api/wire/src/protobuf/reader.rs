//! The lowest layer of the protobuf reader: pairs of field number and payload. Payloads are
//! borrowed.
//!
//! Invariant: every step moves forward; a claimed length is compared with the rest of the body
//! before it is used.

use super::Problem;
use crate::json;

/// Bytes of a message, at most.
pub const MAX_BYTES: usize = json::MAX_BYTES;
/// Levels of nesting, at most, of messages as of their JSON form.
pub const MAX_DEPTH: usize = json::MAX_DEPTH;

/// The largest field number.
const MAX_FIELD: u64 = (1 << 29) - 1;

/// The payload of a field, by wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

impl<'a> Payload<'a> {
    /// An integer or boolean.
    pub(super) fn varint(self) -> Result<u64, Problem> {
        if let Self::Varint(number) = self { Ok(number) } else { Err(Problem::WireType) }
    }

    /// Text, bytes or a message.
    pub(super) fn bytes(self) -> Result<&'a [u8], Problem> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(Problem::WireType) }
    }

    /// Text.
    pub(super) fn text(self) -> Result<&'a str, Problem> {
        str::from_utf8(self.bytes()?).map_err(|_| Problem::NotUtf8)
    }
}

/// The fields of a message in the order of its bytes.
pub(super) struct ProtobufReader<'a> {
    rest: &'a [u8],
}

impl<'a> ProtobufReader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field; `None` at the end. Groups are skipped.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Payload<'a>)>, Problem> {
        let mut groups: Vec<u32> = Vec::new();
        while !self.rest.is_empty() {
            let key = self.varint()?;
            let number =
                u32::try_from(key >> 3).ok().filter(|n| (1..=MAX_FIELD).contains(&u64::from(*n)));
            let number = number.ok_or(Problem::Key(key))?;
            let payload = match key & 7 {
                0 => Payload::Varint(self.varint()?),
                1 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
                2 => Payload::Bytes(self.delimited()?),
                3 if groups.len() < MAX_DEPTH => {
                    groups.push(number);
                    continue;
                }
                3 => return Err(Problem::TooDeep),
                4 if groups.pop() == Some(number) => continue,
                5 => {
                    self.array::<4>()?;
                    Payload::Fixed32
                }
                _ => return Err(Problem::Key(key)),
            };
            if groups.is_empty() {
                return Ok(Some((number, payload)));
            }
        }
        if groups.is_empty() { Ok(None) } else { Err(Problem::Truncated) }
    }

    /// The next number of a packed list; `None` at the end.
    pub(super) fn packed(&mut self) -> Result<Option<u64>, Problem> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    fn varint(&mut self) -> Result<u64, Problem> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Problem::LongNumber);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Problem::LongNumber)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    fn delimited(&mut self) -> Result<&'a [u8], Problem> {
        let length = usize::try_from(self.varint()?).map_err(|_| Problem::Truncated)?;
        let (head, rest) = self.rest.split_at_checked(length).ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(head)
    }
}
