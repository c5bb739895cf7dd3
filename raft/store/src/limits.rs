//! Limits and retention: what a store refuses before it proposes, and how much of the past it
//! keeps.
//!
//! Invariants: limits are checked by the proposing leader, never while applying, so that changing
//! them never makes nodes differ. A full store takes everything that makes it no larger, so that
//! deletes pass and leases are renewed, and marks on what is there already, so that a deletion that
//! goes by way of a mark can begin. Retention is decided while applying, from times and sizes
//! inside the batches only.

use crate::{NotApplied, Operation, Snapshot, Txn};

/// The largest transaction accepted by default, in bytes of keys and values.
pub const DEFAULT_TXN_BYTES: usize = 4 << 20;
/// The default size of the whole store, in bytes of live keys and values.
pub const DEFAULT_STORE_BYTES: u64 = 8 << 30;
/// What a transaction that only replaces keys may add to a full store, in bytes: the time of a
/// deletion and who asked for it, or the conditions of a namespace that ends.
const MARK_BYTES: u64 = 2 << 10;
/// Which part of the limit such marks may take beyond it together.
const MARKS_PART: u64 = 32;
/// How long a revision stays readable by default, in milliseconds.
pub const DEFAULT_RETENTION_MS: u64 = 5 * 60 * 1000;
/// How much history is kept by default at most, in bytes of [`crate::Batch::footprint`].
pub const DEFAULT_HISTORY_BYTES: u64 = 4 << 30;

/// What may be proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of live keys and values at which nothing is added to them; 0 means no limit.
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
    /// Whether the transaction may be proposed to a store that holds this now.
    ///
    /// # Errors
    /// [`NotApplied::Invalid`], [`NotApplied::TooLarge`] or [`NotApplied::OutOfSpace`].
    pub fn check(&self, txn: &Txn, held: &Snapshot) -> Result<(), NotApplied> {
        self.check_txn(txn)?;
        let (used, limit) = (held.size(), self.store_bytes);
        if limit == 0 || used < limit || !txn.puts() || fits_full(txn, held, limit) {
            return Ok(());
        }
        Err(NotApplied::OutOfSpace { used, limit })
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

/// Whether a full store takes the transaction: it adds nothing, or only marks what is there.
fn fits_full(txn: &Txn, held: &Snapshot, limit: u64) -> bool {
    let (mut taken, mut given, mut creates) = (0, 0, false);
    for operation in &txn.operations {
        let before = held.get(operation.key());
        given += before.map_or(0, |entry| (operation.key().len() + entry.value.len()) as u64);
        if let Operation::Put { key, value } = operation {
            taken += (key.len() + value.len()) as u64;
            creates |= before.is_none();
        }
    }
    let added = taken.saturating_sub(given);
    let is_mark = !creates && added <= MARK_BYTES;
    added == 0 || is_mark && held.size() + added <= limit + limit / MARKS_PART
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
    use crate::{Entry, Revision};
    use bytes::Bytes;

    fn txn(operations: Vec<Operation>) -> Txn {
        Txn { conditions: vec![], operations, ..Txn::default() }
    }

    fn put(key: &'static str, size: usize) -> Operation {
        Operation::Put { key: key.into(), value: Bytes::from(vec![0; size]) }
    }

    /// A store that holds keys with values of these sizes.
    fn held(sizes: &[(&'static str, usize)]) -> Snapshot {
        let entries = sizes.iter().map(|(key, size)| {
            let value = Bytes::from(vec![0; *size]);
            let entry = Entry { value, created: Revision::new(1), modified: Revision::new(1) };
            (Bytes::from(*key), entry)
        });
        Snapshot::of(Revision::new(1), entries)
    }

    #[test]
    fn a_full_store_takes_what_adds_nothing_and_marks() {
        const LIMIT: u64 = 64 << 10;
        let limits = Limits { store_bytes: LIMIT, txn_bytes: 1 << 20 };
        let full = held(&[("a", 1000), ("d", 9), ("fill", (64 << 10) - 1015)]);
        let used = full.size();
        assert!(used >= LIMIT);
        let check = |operations: Vec<Operation>, held: &Snapshot, fits: bool| {
            let used = held.size();
            let expect =
                if fits { Ok(()) } else { Err(NotApplied::OutOfSpace { used, limit: LIMIT }) };
            assert_eq!(limits.check(&txn(operations.clone()), held), expect, "{operations:?}");
        };
        let delete = || Operation::Delete { key: Bytes::from_static(b"d") };
        check(vec![put("new", 1)], &held(&[("fill", (64 << 10) - 5)]), true);
        check(vec![delete()], &full, true);
        check(vec![put("a", 1000)], &full, true);
        check(vec![put("a", 10)], &full, true);
        check(vec![put("new", 1)], &full, false);
        // What is deleted makes room for what is written with it, and for no more.
        check(vec![delete(), put("new", 7)], &full, true);
        check(vec![delete(), put("new", 8)], &full, false);
        // A mark.
        check(vec![put("a", 3000)], &full, true);
        check(vec![put("a", 4000)], &full, false);
        let (room, marked) = ((64 << 10) / 32, held(&[("a", 1000), ("fill", 66 << 10)]));
        assert!(marked.size() > LIMIT + room);
        check(vec![put("a", 1001)], &marked, false);
        check(vec![put("a", 1000)], &marked, true);
    }

    #[test]
    fn a_transaction_has_a_limit_of_its_own() {
        let limits = Limits { store_bytes: 0, txn_bytes: 200 };
        let size = txn(vec![put("k", 200)]).footprint();
        let refused = Err(NotApplied::TooLarge { size, limit: 200 });
        assert_eq!(limits.check(&txn(vec![put("k", 200)]), &Snapshot::default()), refused);
        assert_eq!(limits.check_txn(&txn(vec![put("k", 200)])), refused);
        assert_eq!(limits.check_txn(&txn(vec![put("k", 10)])), Ok(()), "however full the store is");
        assert_eq!(limits.check(&txn(vec![put("k", 10)]), &held(&[("fill", 9000)])), Ok(()));
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
