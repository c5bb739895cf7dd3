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

use bytes::Bytes;
use quorate_env::Entropy;
use quorate_meta::{Cause, Names, Value};
use quorate_store::Snapshot;

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
}

impl AllocationView<'_> {
    /// Whether another object has the allocation, or an object exists under the name of its shadow.
    #[must_use]
    pub fn is_taken(&self, allocation: &Allocation) -> bool {
        let keys =
            [Some(allocation.key()), allocation.shadow.as_ref().map(|shadow| shadow.key.clone())];
        keys.into_iter().flatten().any(|key| self.snapshot.get(&key).is_some())
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
