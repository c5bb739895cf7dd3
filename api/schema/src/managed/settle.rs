//! What a write does to the entries of everybody else: the one rule for updates and applies (001, field ownership).
//!
//! Who owned a field that the write changes loses it; an apply that was not forced is told so first, as a conflict. Who
//! owned a field that is gone loses it without a word. Entries of versions that are gone go with them.

use super::versions::{View, Views};
use super::{Entry, Managed};
use crate::fieldset::FieldSet;

/// Fields of one entry that a write changes.
pub(crate) struct Loss {
    /// Which entry.
    pub(crate) entry: usize,
    /// The fields.
    pub(crate) fields: FieldSet,
}

/// The fields that each entry but those that `spares` holds for would lose to a change of their value.
pub(crate) fn losses(managed: &Managed, views: &mut Views<'_>, spares: impl Fn(&Entry) -> bool) -> Vec<Loss> {
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

/// Takes the losses and whatever is gone from the entries, and drops those that own nothing any more.
pub(crate) fn settle(managed: &mut Managed, views: &mut Views<'_>, losses: &[Loss], spares: impl Fn(&Entry) -> bool) {
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
