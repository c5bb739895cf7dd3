//! The revision: the one counter of the cluster, each of whose values names a state of the whole
//! store.
//!
//! Invariants: +1 for each committed write transaction, the same on every node, never reused, never
//! going back. It is what clients see as `resourceVersion`. This file does not assign revisions;
//! only [`crate::State`] does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A state of the store. [`Revision::ZERO`] is the empty store before the first transaction.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Revision(u64);

impl Revision {
    /// Before the first transaction. As the expected revision of a key it means *absent*.
    pub const ZERO: Self = Self(0);
    /// After every transaction that will ever be.
    pub const MAX: Self = Self(u64::MAX);

    /// The revision with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The revision of the transaction after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
