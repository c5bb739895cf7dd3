//! What an admission plugin is.
//!
//! Invariants: plugins are stateless and read nothing but a [`World`]; one that changes an object does so only where it says so.

use quorate_meta::{Names, Value};
use quorate_registry::{Change, Error, Terms};

use crate::snapshot_view::World;

/// One built-in admission plugin.
pub(crate) trait Plugin: Sync {
    /// Whether it has something to give to a new object of this resource.
    fn completes(&self, names: &Names, change: &Change<'_>) -> bool {
        let _ = (names, change);
        false
    }

    /// Gives a new object what others say that it should have.
    fn complete(&self, world: &World<'_>, change: &Change<'_>, object: &mut Value) -> Result<(), Error> {
        let _ = (world, change, object);
        Ok(())
    }

    /// Lets a valid object through.
    fn check(&self, world: &World<'_>, change: &Change<'_>, new: &Value, terms: &mut Terms) -> Result<(), Error> {
        let _ = (world, change, new, terms);
        Ok(())
    }
}
