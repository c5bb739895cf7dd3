//! Allocations: addresses and node ports, each of which one object has at most.
//!
//! Invariants: an allocation is a key of its own ([`Key::Allocation`]), put by the transaction that
//! writes its owner, on the condition that the key is absent, and removed by the transaction that
//! releases it; so no two objects ever have the same. The allocations of an object follow from the
//! object alone. An allocation may have a shadow, an object that clients see (an IPAddress), which
//! is created and deleted with it; an object of that name that another client created is kept, and
//! makes the allocation taken.
//!
//! Not here: which kinds allocate what.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use quorate_env::Entropy;
use quorate_meta::{Cause, Names, Value};
use quorate_store::Snapshot;
use tokio::time::Instant;

use super::keys::Key;

/// The input of a choice.
#[derive(Clone, Copy)]
pub struct AllocationView<'a> {
    /// The names of the cluster's profile.
    pub names: &'static Names,
    /// A current state.
    pub snapshot: &'a Snapshot,
    /// Randomness for the start of each choice, so that concurrent writers seldom choose the same.
    pub entropy: &'a dyn Entropy,
    /// When the choice began.
    pub begin: Instant,
    /// Who counts what is allocated.
    pub metrics: Option<&'a dyn AllocationMetrics>,
}

/// What became of an attempt to allocate a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationAttempt<'a> {
    /// The class of values.
    pub class: &'static str,
    /// The range of the values, as clients write it; empty where the class has one.
    pub range: &'a str,
    /// Whether the client has named the value.
    pub is_requested: bool,
    /// Whether the value may be had.
    pub succeeds: bool,
    /// How long it took.
    pub took: Duration,
}

/// Counts allocations.
pub trait AllocationMetrics: Debug + Send + Sync {
    /// A value was to be allocated. Another writer may still be faster.
    fn attempted(&self, attempt: &AllocationAttempt<'_>);
}

impl AllocationView<'_> {
    /// Whether another object has the allocation, or an object exists under the name of its shadow.
    #[must_use]
    pub fn is_taken(&self, allocation: &Allocation) -> bool {
        let keys =
            [Some(allocation.key()), allocation.shadow.as_ref().map(|shadow| shadow.key.clone())];
        keys.into_iter().flatten().any(|key| self.snapshot.get(&key).is_some())
    }

    /// Counts an attempt to allocate a value, which has begun with the choice.
    pub fn attempted(&self, class: &'static str, range: &str, is_requested: bool, succeeds: bool) {
        if let Some(metrics) = self.metrics {
            let took = self.begin.elapsed();
            metrics.attempted(&AllocationAttempt { class, range, is_requested, succeeds, took });
        }
    }

    /// A random number below a limit.
    #[must_use]
    pub fn below(&self, limit: u128) -> u128 {
        let mut bytes = [0; 8];
        self.entropy.fill(&mut bytes);
        u128::from(u64::from_le_bytes(bytes)) % limit.max(1)
    }
}

impl Debug for AllocationView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AllocationView").field("naming", &self.names.naming).finish_non_exhaustive()
    }
}

/// A value that only one object may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The class of values: `address` or `port`.
    pub class: &'static str,
    /// The value within its class.
    pub name: String,
    /// `RESOURCE/NAMESPACE/NAME` of the object that has it.
    pub owner: String,
    /// The object that represents the allocation to clients.
    pub shadow: Option<Shadow>,
}

/// An object that is created and deleted with an allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadow {
    /// Its key.
    pub key: Bytes,
    /// The object without the metadata that the server sets.
    pub object: Value,
}

impl Allocation {
    /// The allocation's key in the store.
    #[must_use]
    pub fn key(&self) -> Bytes {
        Key::Allocation { class: self.class, name: &self.name }.encode()
    }
}

/// A kind whose objects have allocations.
pub trait Allocator: Send + Sync {
    /// Allocates what the object still lacks and checks the values that it requests. `old` is the
    /// object that it replaces, whose allocations it may keep. A value that is chosen here may be
    /// taken at the commit: then the choice runs again, from the object as it was before.
    ///
    /// # Errors
    /// Causes, when a requested value is not available; a text, when none is left.
    fn choose(
        &self,
        view: AllocationView<'_>,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<(), Unavailable>;

    /// Every allocation of the object.
    fn allocations(&self, names: &Names, object: &Value) -> Vec<Allocation>;

    /// The allocation of this class and name as the object of this namespace and name would have
    /// it, for objects that cannot be read; `None` when its kind has none of the class.
    fn allocation(
        &self,
        names: &Names,
        namespace: &str,
        name: &str,
        class: &str,
        which: &str,
    ) -> Option<Allocation>;
}

/// The reason why an allocation fails.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    /// The object requests values that are not available.
    Refused(Vec<Cause>),
    /// No value is left.
    Exhausted(String),
}
