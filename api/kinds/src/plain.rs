//! A kind of which the schema says everything.

use quorate_registry::Strategy;

/// The strategy that differs nowhere.
#[derive(Debug)]
pub(super) struct Plain;

impl Strategy for Plain {}
