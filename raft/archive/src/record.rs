//! Records: what the sections of a table hold, as bytes.
//!
//! Invariant: decoding what was encoded gives the same thing back; anything else is an error, never
//! a guess. A version: 0 for a deletion, or 1, created revision (u64 LE), value. A base: 0 for
//! absent, or 1, created and modified revision (u64 LE each), value. Transactions and infos: postcard.

use std::io;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Revision};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The number of this layout. Tables of another one are dropped and filled again.
pub const FORMAT: u32 = 1;

/// What is known of a slice; the newest bulk's record counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SliceInfo {
    pub(crate) format: u32,
    /// Of which cluster and naming profile it is.
    pub(crate) owner: String,
    /// The revision before its first transaction.
    pub(crate) after: Revision,
    /// When that was; where it is not known, the time of the first transaction.
    pub(crate) after_ms: u64,
    /// When its first transaction was.
    pub(crate) first_ms: u64,
    /// Its last transaction.
    pub(crate) last: Revision,
    pub(crate) last_ms: u64,
    /// Versions in it.
    pub(crate) versions: u64,
    /// Bytes of keys and values that were written into it.
    pub(crate) written: u64,
}

/// A transaction without the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transaction {
    pub(crate) time_ms: u64,
    pub(crate) origin: Bytes,
    pub(crate) changes: Vec<Change>,
}

/// What it did to a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) key: Bytes,
    /// The transaction that had made what was there before; zero when it was absent.
    pub(crate) previous: Revision,
}

impl Transaction {
    /// What this batch was, without the values.
    pub(crate) fn of(batch: &Batch) -> Self {
        let change = |event: &quorate_store::Event| Change {
            key: event.key.clone(),
            previous: event.previous.as_ref().map_or(Revision::ZERO, |entry| entry.modified),
        };
        Self {
            time_ms: batch.time_ms,
            origin: batch.origin.clone(),
            changes: batch.events.iter().map(change).collect(),
        }
    }
}

/// A record of this crate's own as bytes.
pub(crate) fn encode<T: Serialize>(record: &T) -> Vec<u8> {
    postcard::to_stdvec(record).expect("a vector grows and the record has no failing parts")
}

/// Such a record.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|_| damaged())
}

/// A version as bytes.
pub(crate) fn encode_version(entry: Option<&Entry>) -> Vec<u8> {
    let Some(entry) = entry else { return vec![0] };
    let mut bytes = Vec::with_capacity(9 + entry.value.len());
    bytes.push(1);
    bytes.extend_from_slice(&entry.created.get().to_le_bytes());
    bytes.extend_from_slice(&entry.value);
    bytes
}

/// The version that this revision made.
pub(crate) fn decode_version(revision: Revision, bytes: Vec<u8>) -> io::Result<Option<Entry>> {
    match bytes.first() {
        Some(0) if bytes.len() == 1 => Ok(None),
        Some(1) => {
            let created = word(&bytes, 1)?;
            let value = Bytes::from(bytes).slice(9..);
            Ok(Some(Entry { value, created, modified: revision }))
        }
        _ => Err(damaged()),
    }
}

/// A base as bytes.
pub(crate) fn encode_base(entry: Option<&Entry>) -> Vec<u8> {
    let Some(entry) = entry else { return vec![0] };
    let mut bytes = Vec::with_capacity(17 + entry.value.len());
    bytes.push(1);
    bytes.extend_from_slice(&entry.created.get().to_le_bytes());
    bytes.extend_from_slice(&entry.modified.get().to_le_bytes());
    bytes.extend_from_slice(&entry.value);
    bytes
}

/// The base in these bytes.
pub(crate) fn decode_base(bytes: Vec<u8>) -> io::Result<Option<Entry>> {
    match bytes.first() {
        Some(0) if bytes.len() == 1 => Ok(None),
        Some(1) => {
            let (created, modified) = (word(&bytes, 1)?, word(&bytes, 9)?);
            Ok(Some(Entry { value: Bytes::from(bytes).slice(17..), created, modified }))
        }
        _ => Err(damaged()),
    }
}

fn word(bytes: &[u8], at: usize) -> io::Result<Revision> {
    let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).ok_or_else(damaged)?;
    Ok(Revision::new(u64::from_le_bytes(word)))
}

/// A record that is not what was written, or is not there.
pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a record is damaged or missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_bases_round_trip() {
        let modified = Revision::new(9);
        for value in ["", "x", "a longer value"] {
            let entry = Entry { value: value.into(), created: Revision::new(3), modified };
            let version = encode_version(Some(&entry));
            assert_eq!(decode_version(modified, version.clone()).unwrap(), Some(entry.clone()));
            let base = encode_base(Some(&entry));
            assert_eq!(decode_base(base.clone()).unwrap(), Some(entry));
            assert!(decode_version(modified, version[..8].to_vec()).is_err());
            assert!(decode_base(base[..16].to_vec()).is_err());
        }
        assert_eq!(decode_version(modified, encode_version(None)).unwrap(), None);
        assert_eq!(decode_base(encode_base(None)).unwrap(), None);
        for bytes in [vec![], vec![2], vec![0, 0]] {
            assert!(decode_version(modified, bytes.clone()).is_err());
            assert!(decode_base(bytes).is_err());
        }
    }
}
