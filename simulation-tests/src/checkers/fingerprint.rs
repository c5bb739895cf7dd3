//! A hash of one node's state that follows its changes: looking again costs what has changed, not
//! what there is.
//!
//! Invariants: equal states at equal revisions have equal hashes, however each came about; what a
//! state does not share with the one that was looked at before is hashed anew. Detects accidents,
//! not attackers.

use bytes::Bytes;
use quorate_store::{Digest, Entry, Snapshot};

/// The state that was looked at last, and the sum of the hashes of its entries.
#[derive(Debug, Default)]
pub(super) struct Fingerprint {
    state: Snapshot,
    sum: u64,
}

impl Fingerprint {
    /// The hash of this state.
    pub(super) fn of(&mut self, state: Snapshot) -> u64 {
        for (key, before, after) in state.changes_from(&self.state) {
            self.sum = self.sum.wrapping_sub(hash(key, before)).wrapping_add(hash(key, after));
        }
        self.state = state;
        let mut digest = Digest::new();
        digest.word(self.state.revision().get());
        digest.word(self.sum);
        digest.finish()
    }
}

fn hash(key: &Bytes, entry: Option<&Entry>) -> u64 {
    let Some(entry) = entry else { return 0 };
    let mut digest = Digest::new();
    digest.entry(key, entry);
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::{Operation, Revision, State, Txn};

    #[test]
    fn is_that_of_the_state_whatever_was_seen_before() {
        let mut state = State::new();
        let (mut followed, mut seen) = (Fingerprint::default(), Vec::new());
        for turn in 0..200 {
            let key = Bytes::from(format!("key {}", turn * 7 % 90));
            let put = Operation::Put { key: key.clone(), value: turn.to_string().into() };
            let operation = if turn % 5 == 4 { Operation::Delete { key } } else { put };
            state.apply(
                0,
                &Txn { conditions: vec![], operations: vec![operation], ..Txn::default() },
            );
            let hash = followed.of(state.snapshot());
            assert_eq!(hash, Fingerprint::default().of(state.snapshot()));
            seen.push(hash);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 200);
        let entry = |value: &'static str| Entry {
            value: value.into(),
            created: Revision::new(1),
            modified: Revision::new(1),
        };
        let of = |value| {
            Fingerprint::default().of(Snapshot::of(Revision::new(1), [("a".into(), entry(value))]))
        };
        assert_ne!(of("1"), of("2"));
    }
}
