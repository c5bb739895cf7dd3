//! What a selection leaves of a state, before its objects are looked at one by one.
//!
//! Invariant: what comes out is read like the state itself, with the same result for the selection:
//! the objects that match, from a key on, and at least one more than a page takes.

mod by_index;
mod by_key;

use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_store::Snapshot;

use super::component_status;
use super::converted::{self, Part};
use super::options::{NAME, Selection};
use crate::Api;

/// A state of which a namespace is this part is read as it is.
const LARGE_PART: usize = 2;

/// What a selection leaves of a state.
pub(super) struct Selected {
    pub(super) snapshot: Snapshot,
    /// The index that it was looked up in, as metrics name it; empty for none.
    pub(super) index: String,
}

impl Selected {
    fn scanned(snapshot: Snapshot) -> Self {
        Self { snapshot, index: String::new() }
    }
}

/// The part of the state that a selection can be about, converted where another server does that. Of
/// a limit that is not 0, one more at least.
///
/// # Errors
/// Why an object cannot be converted.
pub(super) async fn part(
    api: &Api,
    resource: &Resource,
    snapshot: Snapshot,
    part: Part<'_>,
    (selection, limit): (&Selection, usize),
) -> Result<Selected, Error> {
    let revision = snapshot.revision();
    let prefix = by_key::prefix(resource, part.prefix, selection);
    let narrow = Part { prefix: &prefix, ..part };
    if let Some(name) = selection.fields.requires_exact(NAME)
        && let Some(named) = by_key::named(resource, &snapshot, narrow, name).await
    {
        let named = Snapshot::of(revision, named);
        return Ok(Selected::scanned(converted::part(resource, named, narrow).await?));
    }
    let snapshot = converted::part(resource, snapshot, narrow).await?;
    // What another server converts, or this one derives, is not what is stored.
    if resource.remote.is_some() || component_status::is_observed(resource) {
        return Ok(Selected::scanned(snapshot));
    }
    let matching = by_index::matching(api, resource, &snapshot, narrow, (selection, limit)).await;
    if let Some((matching, index)) = matching {
        return Ok(Selected { snapshot: Snapshot::of(revision, matching), index: index.name() });
    }
    let objects = snapshot.count(narrow.prefix, narrow.after);
    if objects.saturating_mul(LARGE_PART) < snapshot.count(part.prefix, part.after) {
        let held = snapshot.range(narrow.prefix, narrow.after);
        let held = held.map(|(key, entry)| (key.clone(), entry.clone()));
        return Ok(Selected::scanned(Snapshot::of(revision, held)));
    }
    Ok(Selected::scanned(snapshot))
}
