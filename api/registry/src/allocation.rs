//! What objects have beyond their own keys and nobody else may have: addresses and ports of services.
//!
//! Invariants: an allocation is a key of its own ([`Key::Allocation`]), put by the transaction that writes the object that has it, on the
//! condition that it is absent, and removed by the one that gives it up; so no two objects ever have the same. Which allocations an
//! object has follows from the object alone. An allocation may have a shadow: an object that clients see, which comes and goes
//! with it, and which decides as well: an object of that name that somebody else has made is respected.

use std::fmt::Debug;

use bytes::Bytes;
use quorate_env::Entropy;
use quorate_meta::{Cause, Names, Value};
use quorate_store::Snapshot;

use super::keys::Key;

/// What a choice is made from.
#[derive(Clone, Copy)]
pub struct AllocationView<'a> {
    /// The names of the cluster's profile.
    pub names: &'static Names,
    /// A current state.
    pub snapshot: &'a Snapshot,
    /// Where choices begin, so that writers seldom meet.
    pub entropy: &'a dyn Entropy,
}

impl AllocationView<'_> {
    /// Whether somebody has it already, or has an object in the place of its shadow.
    #[must_use]
    pub fn is_taken(&self, allocation: &Allocation) -> bool {
        let keys = [Some(allocation.key()), allocation.shadow.as_ref().map(|shadow| shadow.key.clone())];
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

/// Something that only one object may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// What it is: `address` or `port`.
    pub class: &'static str,
    /// Which one.
    pub name: String,
    /// `RESOURCE/NAMESPACE/NAME` of the object that has it.
    pub owner: String,
    /// The object that clients see.
    pub shadow: Option<Shadow>,
}

/// An object that comes and goes with an allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadow {
    /// Its key.
    pub key: Bytes,
    /// The object without what the server gives it.
    pub object: Value,
}

impl Allocation {
    /// The key that stands for it.
    #[must_use]
    pub fn key(&self) -> Bytes {
        Key::Allocation { class: self.class, name: &self.name }.encode()
    }
}

/// A kind whose objects have allocations.
pub trait Allocator: Send + Sync {
    /// Chooses what the object still lacks and checks what it asks for. `old` is what it replaces; what that one has, the new
    /// one may keep. What is chosen here may be taken by the time it is written: then it is chosen again, from the object as
    /// it was before.
    ///
    /// # Errors
    /// Causes, when what the object asks for cannot be had; a text, when nothing is left.
    fn choose(&self, view: AllocationView<'_>, old: Option<&Value>, new: &mut Value) -> Result<(), Unavailable>;

    /// Everything that the object has.
    fn allocations(&self, names: &Names, object: &Value) -> Vec<Allocation>;

    /// The allocation of this class and name as the object of this namespace and name would have it, for objects that cannot
    /// be asked; `None` when its kind has nothing of the class.
    fn allocation(&self, names: &Names, namespace: &str, name: &str, class: &str, which: &str) -> Option<Allocation>;
}

/// Why an object does not get what it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    /// It asks for something that it cannot have.
    Refused(Vec<Cause>),
    /// Nothing is left to choose from.
    Exhausted(String),
}
