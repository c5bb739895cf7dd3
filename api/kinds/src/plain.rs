//! The default strategy, of kinds that the schema defines completely.

use quorate_registry::Strategy;

/// A strategy with the default of every method.
#[derive(Debug)]
pub(super) struct Plain;

impl Strategy for Plain {}
