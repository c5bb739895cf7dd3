//! Built-in admission plugins as the pipeline sees them: a small synchronous part for each phase.
//!
//! Invariants: plugins are stateless and read nothing but a [`World`]; one is asked only about the
//! writes that its rules in [`crate::plugins::PLUGINS`] name, so it does not look at the resource
//! again unless it handles several.

use quorate_meta::Value;
use quorate_registry::{Attributes, Error, Terms};

use crate::snapshot_view::World;

/// One built-in admission plugin.
pub(crate) trait Plugin: Sync {
    /// Mutating admission of an object.
    fn mutate(&self, world: &World<'_>, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Error> {
        let _ = (world, attributes, object);
        Ok(())
    }

    /// Validating admission of a valid object, or its charge to quotas; adds to the terms.
    fn validate(
        &self,
        world: &World<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        terms: &mut Terms,
    ) -> Result<(), Error> {
        let _ = (world, attributes, new, terms);
        Ok(())
    }
}
