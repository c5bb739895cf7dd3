//! The decision about one object: keep it, delete it, remove references to owners that are gone, or
//! release it.
//!
//! Pure: the graph and a state in, a decision out. An owner that exists and stays keeps the object;
//! a reference to one that is gone is removed; one whose deletion waits for its dependents has the
//! object deleted first.

use quorate_store::{Revision, Snapshot};

use super::graph::{Graph, ObjectKey, Owner};
use quorate_registry::Propagation;
use quorate_registry::error::Error;
use quorate_registry::stored_codec;

/// The version of an object that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    pub(super) uid: String,
    pub(super) revision: Revision,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing.
    Keep,
    /// Take the references to these owners (by uid) out of the object.
    Disown { seen: ObjectVersion, uids: Vec<String> },
    /// Delete the object, because no owner keeps it.
    Delete { seen: ObjectVersion, propagation: Option<Propagation> },
    /// Make the object's references block no owner: it and its owners would wait for each other.
    /// What else it needs is decided when that has been observed.
    Unblock { seen: ObjectVersion },
    /// Queue these dependents, which the object's deletion waits for.
    Await(Vec<ObjectKey>),
    /// Take the references to the object out of these dependents, then remove its finalizer.
    Orphan { seen: ObjectVersion, dependents: Vec<ObjectKey> },
    /// Remove the finalizer of the object: no dependent is left to wait for.
    Release { seen: ObjectVersion },
}

/// The state of one owner of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerState {
    /// The owner is there, or nothing is known of it.
    Keeps,
    /// The owner is gone.
    Gone,
    /// The owner's deletion waits for its dependents.
    Waits,
}

/// Decides about the object with this key.
pub(super) fn decide(graph: &Graph, key: &ObjectKey, state: &Snapshot) -> Result<Decision, Error> {
    let (Some(entry), Some(resource)) = (state.get(key), graph.resource(key)) else {
        return Ok(Decision::Keep);
    };
    if entry.modified > graph.revision() {
        // Its change is still to be observed, and will queue it.
        return Ok(Decision::Keep);
    }
    let stored = stored_codec::header(&resource, &entry.value)?;
    let seen = ObjectVersion { uid: stored.uid().to_owned(), revision: entry.modified };
    if stored.deletion_timestamp().is_some() {
        return Ok(end(graph, key, seen));
    }
    let owners = graph.owners(key);
    let owner_states = owners
        .iter()
        .map(|owner| owner_state(graph, owner, state))
        .collect::<Result<Vec<_>, _>>()?;
    if owner_states.contains(&OwnerState::Keeps) {
        let lost = owners
            .iter()
            .zip(&owner_states)
            .filter(|(_, owner_state)| **owner_state != OwnerState::Keeps);
        let uids: Vec<String> = lost.map(|(owner, _)| owner.uid.clone()).collect();
        return Ok(if uids.is_empty() { Decision::Keep } else { Decision::Disown { seen, uids } });
    }
    if owners.is_empty() {
        return Ok(Decision::Keep);
    }
    let waited_for = owner_states.contains(&OwnerState::Waits);
    if waited_for && graph.dependents(key).next().is_some() {
        let would_block = owners.iter().any(|owner| owner.blocks)
            && graph.dependents(key).any(|key| graph.waits(key));
        return Ok(match would_block {
            true => Decision::Unblock { seen },
            false => Decision::Delete { seen, propagation: Some(Propagation::Foreground) },
        });
    }
    Ok(Decision::Delete { seen, propagation: None })
}

/// What an object needs whose deletion has begun.
fn end(graph: &Graph, key: &ObjectKey, seen: ObjectVersion) -> Decision {
    match graph.mark(key) {
        Some(mark) if mark.orphan => {
            Decision::Orphan { seen, dependents: graph.dependents(key).cloned().collect() }
        }
        Some(_) if graph.is_blocked(key) && graph.waits_for_itself(key) => {
            Decision::Unblock { seen }
        }
        Some(_) if graph.is_blocked(key) => {
            // A dependent that waits itself is queued when what it waits for has changed.
            Decision::Await(
                graph
                    .dependents(key)
                    .filter(|dependent| !graph.waits(dependent))
                    .cloned()
                    .collect(),
            )
        }
        Some(_) => Decision::Release { seen },
        None => Decision::Keep,
    }
}

fn owner_state(graph: &Graph, owner: &Owner, state: &Snapshot) -> Result<OwnerState, Error> {
    let Some(key) = &owner.key else {
        return Ok(OwnerState::Keeps);
    };
    let (Some(entry), Some(resource)) = (state.get(key), graph.resource(key)) else {
        return Ok(OwnerState::Gone);
    };
    if stored_codec::header(&resource, &entry.value)?.uid() != owner.uid {
        return Ok(OwnerState::Gone);
    }
    Ok(if graph.waits(key) { OwnerState::Waits } else { OwnerState::Keeps })
}
