//! The effect of a write on the entries of other managers, for updates and applies.
//!
//! The owner of a changed field loses it; an apply without force fails with a conflict first. The
//! owner of a removed field loses it without a conflict. Entries of versions that no longer exist
//! are dropped.

use super::versions::{View, Views};
use super::{Entry, Managed};
use crate::fieldset::FieldSet;

/// The fields of one entry that a write changes.
pub(crate) struct Loss {
    /// The index of the entry.
    pub(crate) entry: usize,
    /// The fields.
    pub(crate) fields: FieldSet,
}

/// The fields that entries would lose to a change of their value, except for entries of which
/// `spares` holds.
pub(crate) fn losses(
    managed: &Managed,
    views: &mut Views<'_>,
    spares: impl Fn(&Entry) -> bool,
) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (index, entry) in managed.entries.iter().enumerate().filter(|(_, entry)| !spares(entry)) {
        if let View::Changes(changes) = views.of(&entry.api_version) {
            let mut fields = entry.fields.intersection(&changes.added);
            fields.add(&entry.fields.intersection(&changes.modified));
            if !fields.is_empty() {
                losses.push(Loss { entry: index, fields });
            }
        }
    }
    losses
}

/// Removes the losses and the removed fields from the entries, and drops empty entries.
pub(crate) fn settle(
    managed: &mut Managed,
    views: &mut Views<'_>,
    losses: &[Loss],
    spares: impl Fn(&Entry) -> bool,
) {
    for loss in losses {
        managed.entries[loss.entry].fields.subtract(&loss.fields);
    }
    managed.entries.retain_mut(|entry| {
        if !spares(entry) {
            match views.of(&entry.api_version) {
                View::Changes(changes) => entry.fields.subtract(&changes.removed),
                View::Gone => return false,
                View::Unknown => {}
            }
        }
        !entry.fields.is_empty()
    });
}
