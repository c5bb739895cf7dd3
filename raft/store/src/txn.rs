//! Transactions: conditions on keys, then puts and deletes, committed whole or not at all.
//!
//! Invariants: a committed transaction with at least one operation takes exactly one revision; a
//! key occurs at most once among the operations and has from 1 to [`MAX_KEY_BYTES`] bytes. This
//! file only describes transactions; [`crate::State`] decides and applies them, and
//! `txn_encoding` gives them their bytes.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Entry, NotApplied, Revision};

/// Bytes of the longest key. What a replica keeps its state in has no room for longer ones, so one
/// that got into the log could be applied by no node.
pub const MAX_KEY_BYTES: usize = 65_535;
/// Bytes of the longest [`Txn::origin`].
pub const MAX_ORIGIN_BYTES: usize = 4096;
/// Bytes that encoding a condition or an operation takes besides its key and value, at most.
const ITEM_OVERHEAD: usize = 24;

/// An atomic change: every condition must hold, then every operation is carried out at one
/// revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Txn {
    /// Checked in order against the state just before the transaction.
    pub conditions: Vec<Condition>,
    /// Carried out together; no key twice.
    pub operations: Vec<Operation>,
    /// Who proposed it and how, up to [`MAX_ORIGIN_BYTES`]; kept with the revision. Opaque to the
    /// store, and empty where none is known.
    pub origin: Bytes,
}

impl Txn {
    /// Whether it keeps the rules: no empty key, none longer than [`MAX_KEY_BYTES`], no key twice
    /// among the operations, no origin longer than [`MAX_ORIGIN_BYTES`].
    ///
    /// # Errors
    /// [`NotApplied::Invalid`] with the first rule that is broken.
    pub fn validate(&self) -> Result<(), NotApplied> {
        let conditions = self.conditions.iter().map(Condition::key);
        let operations = self.operations.iter().map(Operation::key);
        for key in conditions.chain(operations.clone()) {
            if key.is_empty() {
                return Err(NotApplied::Invalid("empty key".to_owned()));
            }
            if key.len() > MAX_KEY_BYTES {
                let size = key.len();
                return Err(NotApplied::Invalid(format!(
                    "a key of {size} bytes; at most {MAX_KEY_BYTES} are allowed"
                )));
            }
        }
        if self.origin.len() > MAX_ORIGIN_BYTES {
            let size = self.origin.len();
            return Err(NotApplied::Invalid(format!(
                "an origin of {size} bytes; at most {MAX_ORIGIN_BYTES} are allowed"
            )));
        }
        let mut seen = BTreeSet::new();
        match operations.into_iter().find(|key| !seen.insert(*key)) {
            Some(key) => {
                Err(NotApplied::Invalid(format!("{key:?} occurs twice among the operations")))
            }
            None => Ok(()),
        }
    }

    /// Roughly its encoded size in bytes, never less.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let conditions = self.conditions.iter().map(|condition| condition.key().len());
        let operations = self.operations.iter().map(|operation| match operation {
            Operation::Put { key, value } => key.len() + value.len(),
            Operation::Delete { key } => key.len(),
        });
        2 * ITEM_OVERHEAD
            + self.origin.len()
            + conditions.chain(operations).map(|bytes| bytes + ITEM_OVERHEAD).sum::<usize>()
    }

    /// Whether any operation is a put; a transaction without one passes at the size limit.
    #[must_use]
    pub fn puts(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation, Operation::Put { .. }))
    }
}

/// What must hold for a transaction to commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// The key was last modified at this revision; [`Revision::ZERO`] means it is absent.
    Modified {
        /// The key.
        key: Bytes,
        /// Its expected [`Entry::modified`], or zero.
        revision: Revision,
    },
    /// The key is present, at whatever revision.
    Exists {
        /// The key.
        key: Bytes,
    },
}

impl Condition {
    /// The key that the condition is about.
    #[must_use]
    pub fn key(&self) -> &Bytes {
        match self {
            Self::Modified { key, .. } | Self::Exists { key } => key,
        }
    }
}

/// One change of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Creates or replaces the key's value.
    Put {
        /// The key.
        key: Bytes,
        /// The whole new value.
        value: Bytes,
    },
    /// Removes the key; nothing happens when it is absent.
    Delete {
        /// The key.
        key: Bytes,
    },
}

impl Operation {
    /// The key that the operation changes.
    #[must_use]
    pub fn key(&self) -> &Bytes {
        match self {
            Self::Put { key, .. } | Self::Delete { key } => key,
        }
    }
}

/// What became of a transaction that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Every condition held. For a transaction without operations, `revision` is the state that was
    /// checked.
    Committed {
        /// The transaction's own revision.
        revision: Revision,
    },
    /// A condition did not hold; nothing changed.
    Conflict {
        /// Index of the first condition that failed.
        condition: usize,
        /// What its key holds instead, so that a retry needs no extra read.
        current: Option<Entry>,
        /// The state that was checked.
        revision: Revision,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validates_keys() {
        let put = |key: &'static str| Operation::Put { key: key.into(), value: Bytes::new() };
        let delete = |key: &'static str| Operation::Delete { key: key.into() };
        let exists = |key: &'static str| Condition::Exists { key: key.into() };
        let check =
            |conditions: Vec<Condition>, operations: Vec<Operation>, expect: Result<(), &str>| {
                let expect = expect.map_err(|text| NotApplied::Invalid(text.to_owned()));
                let txn = Txn { conditions, operations, ..Txn::default() };
                assert_eq!(txn.validate(), expect);
            };
        check(vec![], vec![], Ok(()));
        check(vec![exists("a"), exists("a")], vec![put("a"), delete("b")], Ok(()));
        check(vec![], vec![put("a"), delete("a")], Err("b\"a\" occurs twice among the operations"));
        check(vec![], vec![put("")], Err("empty key"));
        check(vec![exists("")], vec![], Err("empty key"));
        let [longest, longer]: [&str; 2] =
            [MAX_KEY_BYTES, MAX_KEY_BYTES + 1].map(|size| &*"k".repeat(size).leak());
        check(vec![exists(longest)], vec![put(longest)], Ok(()));
        let refusal = Err("a key of 65536 bytes; at most 65535 are allowed");
        check(vec![], vec![put(longer)], refusal);
        check(vec![exists(longer)], vec![], refusal);
        let origin = |size| Txn { origin: vec![0; size].into(), ..Txn::default() }.validate();
        assert_eq!(origin(MAX_ORIGIN_BYTES), Ok(()));
        let refusal = "an origin of 4097 bytes; at most 4096 are allowed".to_owned();
        assert_eq!(origin(MAX_ORIGIN_BYTES + 1), Err(NotApplied::Invalid(refusal)));
    }

    #[test]
    fn footprint_is_at_least_the_encoded_size() {
        let long = Bytes::from(vec![1; 70_000]);
        let txn = Txn {
            conditions: vec![
                Condition::Exists { key: long.clone() },
                Condition::Modified { key: Bytes::new(), revision: Revision::new(u64::MAX) },
            ],
            operations: vec![
                Operation::Put { key: long.clone(), value: long.clone() },
                Operation::Delete { key: Bytes::new() },
            ],
            origin: long.slice(..MAX_ORIGIN_BYTES),
        };
        let encoded = postcard::to_stdvec(&txn).expect("memory suffices").len();
        assert!(txn.footprint() >= encoded && txn.footprint() < encoded + 200);
    }
}
