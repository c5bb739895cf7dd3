//! The form of every object of a repository.
//!
//! ```text
//!  0  magic "QuorBkup"
//!  8  format, u16 LE
//! 10  kind, u8: what it is (Kind)
//! 11  codec, u8: 1 = LZ4 block
//! 12  salt, 32 bytes: the object's key is derived from it
//! 44  length of the contents before compression, u32 LE
//! 48  AES-256-GCM of the compressed contents, with its tag
//!  …  CRC-32C of everything before, u32 LE: tells decay from forgery, without the key
//! ```
//!
//! Authenticated besides: all of the header, the repository's id, and the object's name, in which its
//! base and position, or its revisions, are. Invariant: bytes from outside give contents or a
//! [`Damage`], never a panic, and no more memory than [`MAX_CONTENTS_BYTES`].

use quorate_env::Entropy;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Damage;
use crate::key::{BackupKey, SALT_BYTES};

/// The version of the form, and of the records in it.
pub const FORMAT: u16 = 1;
/// Bytes of an object's contents at most.
pub const MAX_CONTENTS_BYTES: usize = 256 << 20;
const MAGIC: &[u8; 8] = b"QuorBkup";
const LZ4: u8 = 1;
const HEADER_BYTES: usize = 48;
const CHECKSUM_BYTES: usize = 4;
const TAG_BYTES: usize = 16;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The repository's header.
    Header = 1,
    /// The index.
    Index = 2,
    /// A part of a base.
    Part = 3,
    /// The manifest of a base.
    Manifest = 4,
    /// A segment.
    Segment = 5,
}

/// Random bytes that name a repository.
pub type RepositoryId = [u8; 16];

/// Where an object belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) repository: RepositoryId,
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
}

impl Place<'_> {
    /// The object with this record.
    pub(crate) fn seal(
        &self,
        key: &BackupKey,
        entropy: &dyn Entropy,
        record: &impl Serialize,
    ) -> Vec<u8> {
        let plain = postcard::to_stdvec(record).expect("a vector grows, and records always encode");
        let mut salt = [0; SALT_BYTES];
        entropy.fill(&mut salt);
        let length = u32::try_from(plain.len()).expect("records are cut far below 4 GiB");
        let mut object = Vec::with_capacity(HEADER_BYTES + plain.len() / 2);
        object.extend(MAGIC);
        object.extend(FORMAT.to_le_bytes());
        object.extend([self.kind as u8, LZ4]);
        object.extend(salt);
        object.extend(length.to_le_bytes());
        let mut body = lz4_flex::block::compress(&plain);
        key.seal(&salt, &self.authenticated(&object), &mut body);
        object.extend(body);
        let checksum = crc32c::crc32c(&object);
        object.extend(checksum.to_le_bytes());
        object
    }

    /// The record in an object.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        key: &BackupKey,
        object: &[u8],
    ) -> Result<T, Damage> {
        let plain = self.open_bytes(key, object)?;
        match postcard::take_from_bytes(&plain) {
            Ok((record, [])) => Ok(record),
            _ => Err(Damage::Contents("its record cannot be read")),
        }
    }

    fn open_bytes(&self, key: &BackupKey, object: &[u8]) -> Result<Vec<u8>, Damage> {
        if object.len() < HEADER_BYTES + TAG_BYTES + CHECKSUM_BYTES {
            return Err(Damage::Short);
        }
        if &object[..8] != MAGIC {
            return Err(Damage::Foreign);
        }
        let (checked, checksum) = object.split_at(object.len() - CHECKSUM_BYTES);
        if crc32c::crc32c(checked).to_le_bytes() != checksum {
            return Err(Damage::Checksum);
        }
        let (header, body) = checked.split_at(HEADER_BYTES);
        let format = u16::from_le_bytes([header[8], header[9]]);
        if format > FORMAT {
            return Err(Damage::Format(format));
        }
        if header[10] != self.kind as u8 || header[11] != LZ4 {
            return Err(Damage::Unauthentic);
        }
        let salt = header[12..44].try_into().expect("the header has its length");
        let length =
            u32::from_le_bytes(header[44..48].try_into().expect("the header has its length"));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let body = key.open(&salt, &self.authenticated(header), body.to_vec());
        let body = body.ok_or(Damage::Unauthentic)?;
        if length > MAX_CONTENTS_BYTES {
            return Err(Damage::Contents("it is too large"));
        }
        let plain = lz4_flex::block::decompress(&body, length)
            .map_err(|_| Damage::Contents("it cannot be decompressed"))?;
        if plain.len() == length { Ok(plain) } else { Err(Damage::Contents("its length is wrong")) }
    }

    fn authenticated(&self, header: &[u8]) -> Vec<u8> {
        [header, &self.repository, self.name.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_env::SystemEnv;

    #[test]
    fn an_object_opens_only_where_it_was_written_and_as_it_was_written() {
        let key = BackupKey::generate(&SystemEnv);
        let place = Place { repository: [7; 16], kind: Kind::Part, name: "bases/1/000000" };
        let record = vec!["a".repeat(1000), "b".to_owned()];
        let object = place.seal(&key, &SystemEnv, &record);
        assert!(object.len() < 200, "{}", object.len());
        let check =
            |place: Place<'_>, key: &BackupKey, object: &[u8], expect: Result<(), Damage>| {
                let opened = place.open::<Vec<String>>(key, object);
                assert_eq!(opened.map(|found| assert_eq!(found, record)), expect);
            };
        check(place, &key, &object, Ok(()));
        check(place, &BackupKey::generate(&SystemEnv), &object, Err(Damage::Unauthentic));
        check(Place { name: "bases/1/000001", ..place }, &key, &object, Err(Damage::Unauthentic));
        check(Place { repository: [8; 16], ..place }, &key, &object, Err(Damage::Unauthentic));
        check(Place { kind: Kind::Segment, ..place }, &key, &object, Err(Damage::Unauthentic));
        check(place, &key, &object[..60], Err(Damage::Short));
        check(place, &key, &object[..object.len() - 1], Err(Damage::Checksum));
        for at in 0..object.len() {
            let mut bent = object.clone();
            bent[at] ^= 1 << (at % 8);
            assert!(place.open::<Vec<String>>(&key, &bent).is_err(), "byte {at}");
            // With the checksum put right, the tag still tells.
            let checked = bent.len() - CHECKSUM_BYTES;
            if at < checked {
                let checksum = crc32c::crc32c(&bent[..checked]).to_le_bytes();
                bent[checked..].copy_from_slice(&checksum);
                assert!(place.open::<Vec<String>>(&key, &bent).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn the_same_record_never_gives_the_same_object() {
        let key = BackupKey::generate(&SystemEnv);
        let place = Place { repository: [7; 16], kind: Kind::Part, name: "n" };
        assert_ne!(place.seal(&key, &SystemEnv, &1_u8), place.seal(&key, &SystemEnv, &1_u8));
    }
}
