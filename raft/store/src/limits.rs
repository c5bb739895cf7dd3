//! Limits and retention: what a store refuses before it proposes, and how much of the past it
//! keeps.
//!
//! Invariant: limits are checked by the proposing leader, never while applying, so that changing
//! them never makes nodes differ. Retention is decided while applying, from times and sizes inside
//! the batches only.

use crate::{NotApplied, Txn};

/// The largest transaction accepted by default, in bytes of keys and values.
pub const DEFAULT_TXN_BYTES: usize = 4 << 20;
/// The default size of the whole store, in bytes of live keys and values.
pub const DEFAULT_STORE_BYTES: u64 = 8 << 30;
/// How long a revision stays readable by default, in milliseconds.
pub const DEFAULT_RETENTION_MS: u64 = 5 * 60 * 1000;
/// How much history is kept by default at most, in bytes of [`crate::Batch::footprint`].
pub const DEFAULT_HISTORY_BYTES: u64 = 4 << 30;

/// What may be proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of live keys and values at which only deletes pass; 0 means no limit.
    pub store_bytes: u64,
    /// Bytes of one transaction, see [`Txn::footprint`].
    pub txn_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { store_bytes: DEFAULT_STORE_BYTES, txn_bytes: DEFAULT_TXN_BYTES }
    }
}

impl Limits {
    /// Whether the transaction may be proposed to a store that holds `used` bytes now.
    ///
    /// # Errors
    /// [`NotApplied::Invalid`], [`NotApplied::TooLarge`] or [`NotApplied::OutOfSpace`].
    pub fn check(&self, txn: &Txn, used: u64) -> Result<(), NotApplied> {
        self.check_txn(txn)?;
        if self.store_bytes > 0 && used >= self.store_bytes && txn.puts() {
            return Err(NotApplied::OutOfSpace { used, limit: self.store_bytes });
        }
        Ok(())
    }

    /// Whether the transaction may be proposed to a store with room for it.
    ///
    /// # Errors
    /// [`NotApplied::Invalid`] or [`NotApplied::TooLarge`].
    pub fn check_txn(&self, txn: &Txn) -> Result<(), NotApplied> {
        txn.validate()?;
        let size = txn.footprint();
        if size > self.txn_bytes {
            return Err(NotApplied::TooLarge { size, limit: self.txn_bytes });
        }
        Ok(())
    }
}

/// How far back revisions stay readable. Both bounds hold: the one that is reached first drops a
/// batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Milliseconds between the newest batch and the oldest kept.
    pub time_ms: u64,
    /// Bytes of all kept batches together, see [`crate::Batch::footprint`].
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { time_ms: DEFAULT_RETENTION_MS, bytes: DEFAULT_HISTORY_BYTES }
    }
}

impl Retention {
    /// Whether the oldest kept batch, of `oldest_ms`, must go, when the newest is of `newest_ms`
    /// and `kept` bytes are kept.
    #[must_use]
    pub fn drops(&self, oldest_ms: u64, newest_ms: u64, kept: u64) -> bool {
        oldest_ms < newest_ms.saturating_sub(self.time_ms) || kept > self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;
    use bytes::Bytes;

    #[test]
    fn limits_let_deletes_through() {
        let limits = Limits { store_bytes: 100, txn_bytes: 200 };
        let put = |size: usize| Operation::Put {
            key: Bytes::from_static(b"k"),
            value: Bytes::from(vec![0; size]),
        };
        let delete = Operation::Delete { key: Bytes::from_static(b"d") };
        let check = |operations: Vec<Operation>, used: u64, expect: Result<(), NotApplied>| {
            assert_eq!(
                limits.check(&Txn { conditions: vec![], operations, ..Txn::default() }, used),
                expect
            );
        };
        check(vec![put(10)], 99, Ok(()));
        check(vec![put(10)], 100, Err(NotApplied::OutOfSpace { used: 100, limit: 100 }));
        check(
            vec![delete.clone(), put(0)],
            100,
            Err(NotApplied::OutOfSpace { used: 100, limit: 100 }),
        );
        check(vec![delete], 1000, Ok(()));
        let size =
            Txn { conditions: vec![], operations: vec![put(200)], ..Txn::default() }.footprint();
        check(vec![put(200)], 0, Err(NotApplied::TooLarge { size, limit: 200 }));
        let txn =
            |size: usize| Txn { conditions: vec![], operations: vec![put(size)], ..Txn::default() };
        assert_eq!(limits.check_txn(&txn(10)), Ok(()), "however full the store is");
        assert_eq!(limits.check_txn(&txn(200)), Err(NotApplied::TooLarge { size, limit: 200 }));
    }

    #[test]
    fn retention_is_bounded_in_time_and_bytes() {
        let retention = Retention { time_ms: 1000, bytes: 50 };
        assert!(!retention.drops(0, 1000, 50));
        assert!(retention.drops(0, 1001, 50));
        assert!(retention.drops(1000, 1001, 51));
        assert!(!retention.drops(5, 5, 0));
    }
}
