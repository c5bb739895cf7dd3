//! The encoding of transactions: conditions, then operations, by serde.
//!
//! Invariant: what a release has written is read by every later one. The log and the members' messages
//! hold transactions in a form that is positional, so it only grows at the end of enums: an origin is
//! one more operation behind the others, and absent where it is empty.

use bytes::Bytes;
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Condition, Operation, Txn};

/// The variant of [`Encoded`] that an origin is.
const ORIGIN: u32 = 2;

/// A transaction as its bytes hold it.
#[derive(Deserialize)]
#[serde(rename = "Txn")]
struct EncodedTxn {
    conditions: Vec<Condition>,
    operations: Vec<Encoded>,
}

/// What stands among the operations. The first variants are those of [`Operation`].
#[derive(Deserialize)]
enum Encoded {
    Put { key: Bytes, value: Bytes },
    Delete { key: Bytes },
    Origin(Bytes),
}

/// The operations of a transaction and its origin behind them.
struct Operations<'a>(&'a Txn);

/// An origin as a variant of [`Encoded`].
struct Origin<'a>(&'a Bytes);

impl Serialize for Txn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut txn = serializer.serialize_struct("Txn", 2)?;
        txn.serialize_field("conditions", &self.conditions)?;
        txn.serialize_field("operations", &Operations(self))?;
        txn.end()
    }
}

impl Serialize for Operations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Txn { operations, origin, .. } = self.0;
        let length = operations.len() + usize::from(!origin.is_empty());
        let mut sequence = serializer.serialize_seq(Some(length))?;
        operations.iter().try_for_each(|operation| sequence.serialize_element(operation))?;
        if !origin.is_empty() {
            sequence.serialize_element(&Origin(origin))?;
        }
        sequence.end()
    }
}

impl Serialize for Origin<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_variant("Operation", ORIGIN, "Origin", self.0)
    }
}

impl<'de> Deserialize<'de> for Txn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EncodedTxn { conditions, operations: encoded } = EncodedTxn::deserialize(deserializer)?;
        let (mut operations, mut origin) = (Vec::with_capacity(encoded.len()), Bytes::new());
        for one in encoded {
            match one {
                Encoded::Put { key, value } => operations.push(Operation::Put { key, value }),
                Encoded::Delete { key } => operations.push(Operation::Delete { key }),
                Encoded::Origin(text) => origin = text,
            }
        }
        Ok(Self { conditions, operations, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Revision;

    fn txn(origin: &'static str) -> Txn {
        Txn {
            conditions: vec![
                Condition::Exists { key: "e".into() },
                Condition::Modified { key: "m".into(), revision: Revision::new(300) },
            ],
            operations: vec![
                Operation::Put { key: "p".into(), value: "v".into() },
                Operation::Delete { key: "d".into() },
            ],
            origin: origin.into(),
        }
    }

    #[test]
    fn transactions_keep_their_bytes_for_all_time() {
        let check = |txn: Txn, bytes: &[u8]| {
            assert_eq!(postcard::to_stdvec(&txn).expect("encodes"), bytes);
            assert_eq!(postcard::from_bytes::<Txn>(bytes).expect("decodes"), txn);
        };
        // What releases without origins have written.
        check(txn(""), b"\x02\x01\x01e\x00\x01m\xac\x02\x02\x00\x01p\x01v\x01\x01d");
        check(txn("me"), b"\x02\x01\x01e\x00\x01m\xac\x02\x03\x00\x01p\x01v\x01\x01d\x02\x02me");
        check(Txn::default(), b"\x00\x00");
    }
}
