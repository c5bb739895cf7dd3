//! What no schema can say about a kind: one implementation per kind, in a file of its own.
//!
//! Invariants: strategies are stateless and do no I/O; every method has a default that suits a plain kind, so that a new
//! kind only says where it differs.

use std::fmt::Debug;

/// The semantics of one kind.
pub trait Strategy: Send + Sync + Debug + 'static {
    /// Whether an update of an absent object creates it.
    fn create_on_update(&self) -> bool {
        false
    }

    /// Whether an update may leave `metadata.resourceVersion` empty and so replace whatever is stored.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// Whether an immediate deletion answers with the last state of the object, not with a Status.
    fn delete_returns_object(&self) -> bool {
        false
    }
}
