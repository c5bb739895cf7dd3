//! Built-in admission plugins as the pipeline calls them: a synchronous method for each phase.
//!
//! Invariants: plugins are stateless and read nothing but a [`SnapshotView`]; a plugin is asked
//! only about the writes that its rules in [`crate::plugins::PLUGINS`] match, so it does not look
//! at the resource again unless it handles several.
//!
//! Not here: the table of plugins and their order.

use bytes::Bytes;
use quorate_meta::Value;
use quorate_registry::{Attributes, Error, Terms};

use crate::snapshot_view::SnapshotView;

/// One built-in admission plugin.
pub(crate) trait Plugin: Sync {
    /// The key of an object that is missing for the mutating part and that the cluster itself makes
    /// a moment after another one.
    fn awaits(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Option<Bytes> {
        let _ = (view, attributes, object);
        None
    }

    /// Mutating admission of an object.
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        let _ = (view, attributes, object);
        Ok(())
    }

    /// Validating admission of a valid object, or its charge to quotas; adds to the terms.
    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        terms: &mut Terms,
    ) -> Result<(), Error> {
        let _ = (view, attributes, new, terms);
        Ok(())
    }
}
