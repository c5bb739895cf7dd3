//! Stored objects that another server converts, before they are rendered.
//!
//! Invariant: what comes out is selected, ordered and rendered like any stored object. Resources
//! that this server converts itself cost nothing here.

use bytes::Bytes;
use quorate_registry::Resource;
use quorate_registry::error::Error;
use quorate_store::{Event, Snapshot};

/// A part of a collection of a snapshot: what begins with `prefix`, after a key, and up to one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) prefix: &'a [u8],
    pub(super) after: Option<&'a [u8]>,
    pub(super) stop: Option<&'a Bytes>,
}

/// A snapshot of a part of a collection; the given one where nothing has to be converted.
///
/// # Errors
/// Why an object cannot be converted.
pub(super) async fn part(
    resource: &Resource,
    snapshot: Snapshot,
    part: Part<'_>,
) -> Result<Snapshot, Error> {
    let Some(remote) = &resource.remote else {
        return Ok(snapshot);
    };
    let mut entries = Vec::new();
    for (key, entry) in snapshot.range(part.prefix, part.after) {
        entries.push((key.clone(), entry.clone()));
        if part.stop == Some(key) {
            break;
        }
    }
    let mut values: Vec<Bytes> = entries.iter().map(|(_, entry)| entry.value.clone()).collect();
    remote.to_served(&mut values).await?;
    for ((_, entry), value) in entries.iter_mut().zip(values) {
        entry.value = value;
    }
    Ok(Snapshot::of(snapshot.revision(), entries))
}

/// The events of one transaction; `None` where nothing has to be converted.
///
/// # Errors
/// Why an object cannot be converted.
pub(super) async fn events<'e>(
    resource: &Resource,
    events: impl Iterator<Item = &'e Event> + Send,
) -> Result<Option<Vec<Event>>, Error> {
    let Some(remote) = &resource.remote else {
        return Ok(None);
    };
    let mut events: Vec<Event> = events.cloned().collect();
    let entries = |event: &'_ Event| [event.previous.clone(), event.current.clone()];
    let mut values: Vec<Bytes> =
        events.iter().flat_map(entries).flatten().map(|entry| entry.value).collect();
    remote.to_served(&mut values).await?;
    let places = events.iter_mut().flat_map(|event| [&mut event.previous, &mut event.current]);
    for (entry, value) in places.flatten().zip(values) {
        entry.value = value;
    }
    Ok(Some(events))
}
