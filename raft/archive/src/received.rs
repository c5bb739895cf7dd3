//! The checks of what another member sent: whether it can be the past of this cluster.
//!
//! Invariants: what passes follows without a hole on what is before it, its times never go back, and
//! each change is of a state that the changes before it have left. A value may be empty instead of
//! what it was: that is what a purge leaves of it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Event, MAX_KEY_BYTES, MAX_ORIGIN_BYTES, PastError, Revision};

use crate::fill::FillError;
use crate::slice::Slice;

const ANOTHER_HISTORY: &str = "it does not agree with what is here: another history";

/// Where the next batch has to go on, and until when it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    pub(crate) revision: Revision,
    pub(crate) time_ms: u64,
    /// When what follows on the missing ones was.
    pub(crate) end_ms: u64,
}

impl Position {
    /// Where it is after these batches, if they can stand here.
    pub(crate) fn after(mut self, batches: &[Arc<Batch>]) -> Result<Self, FillError> {
        for batch in batches {
            if batch.revision != self.revision.next() {
                let (found, expect) = (batch.revision, self.revision.next());
                return Err(FillError::Refused(format!("revision {found} instead of {expect}")));
            }
            if !(self.time_ms..=self.end_ms).contains(&batch.time_ms) {
                return Err(refused(batch, "its time is not between those of its neighbours"));
            }
            check_batch(batch)?;
            (self.revision, self.time_ms) = (batch.revision, batch.time_ms);
        }
        Ok(self)
    }
}

fn refused(batch: &Batch, reason: &str) -> FillError {
    FillError::Refused(format!("revision {}: {reason}", batch.revision))
}

fn check_batch(batch: &Batch) -> Result<(), FillError> {
    if batch.origin.len() > MAX_ORIGIN_BYTES {
        return Err(refused(batch, "its origin is too long"));
    }
    let mut keys: Vec<&Bytes> = batch.events.iter().map(|event| &event.key).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(refused(batch, "it changes a key twice"));
    }
    match batch.events.iter().all(|event| is_possible(event, batch.revision)) {
        true => Ok(()),
        false => Err(refused(batch, "a change is impossible")),
    }
}

/// Whether a transaction of this revision can have made this change.
fn is_possible(event: &Event, revision: Revision) -> bool {
    let Event { key, current, previous } = event;
    let was = previous.as_ref();
    let is_older = was.is_none_or(|entry| {
        Revision::ZERO < entry.created
            && entry.created <= entry.modified
            && entry.modified < revision
    });
    let follows = match current {
        Some(entry) => {
            entry.modified == revision
                && entry.created == was.map_or(revision, |previous| previous.created)
        }
        None => was.is_some(),
    };
    (1..=MAX_KEY_BYTES).contains(&key.len()) && is_older && follows
}

/// Whether each batch changes what the slice and the batches before it have left.
pub(crate) fn check_changes(slice: &Slice, batches: &[Arc<Batch>]) -> Result<(), FillError> {
    let mut left: HashMap<&Bytes, Option<&Entry>> = HashMap::new();
    for batch in batches {
        for event in batch.events.iter() {
            let follows = match left.insert(&event.key, event.current.as_ref()) {
                Some(entry) => is_same(entry, event.previous.as_ref()),
                None => follows(slice, event)?,
            };
            if !follows {
                return Err(refused(batch, "it changes something else than what was there"));
            }
        }
    }
    Ok(())
}

/// Whether the slice ends with what the event has changed.
fn follows(slice: &Slice, event: &Event) -> io::Result<bool> {
    let was = event.previous.as_ref();
    match was.filter(|entry| entry.modified > slice.info.after) {
        Some(entry) => match slice.find(&event.key, entry.modified)? {
            Some(found) => Ok(is_same(found.as_ref(), was)),
            None => Ok(false),
        },
        None => match slice.at(&event.key, slice.info.last)? {
            Some(found) => Ok(is_same(found.as_ref(), was)),
            None => Ok(true),
        },
    }
}

/// Whether both say the same of a key.
fn is_same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            let is_told = !one.value.is_empty() && !other.value.is_empty();
            one.created == other.created
                && one.modified == other.modified
                && (!is_told || one.value == other.value)
        }
        _ => false,
    }
}

/// Whether both are the same transaction, but for what was purged from either.
pub(crate) fn is_same_batch(one: &Batch, other: &Batch) -> bool {
    let same_event = |(one, other): (&Event, &Event)| {
        one.key == other.key
            && is_same(one.current.as_ref(), other.current.as_ref())
            && is_same(one.previous.as_ref(), other.previous.as_ref())
    };
    one.revision == other.revision
        && one.time_ms == other.time_ms
        && one.origin == other.origin
        && one.events.len() == other.events.len()
        && one.events.iter().zip(other.events.iter()).all(same_event)
}

/// Compares what these batches leave of each key with what is known of it here. How many agree.
pub(crate) fn compare_left(
    batches: &[Arc<Batch>],
    known: impl Fn(&[u8]) -> Result<Option<Entry>, PastError>,
) -> Result<usize, FillError> {
    let mut seen: HashSet<&Bytes> = HashSet::new();
    let mut agree = 0;
    for batch in batches.iter().rev() {
        for event in batch.events.iter().filter(|event| seen.insert(&event.key)) {
            let Ok(entry) = known(&event.key) else { continue };
            if !is_same(entry.as_ref(), event.current.as_ref()) {
                return Err(refused(batch, ANOTHER_HISTORY));
            }
            agree += 1;
        }
    }
    Ok(agree)
}

/// Compares what a batch has changed with what is known of it here.
pub(crate) fn compare_previous(
    batch: &Batch,
    known: impl Fn(&[u8]) -> Result<Option<Entry>, PastError>,
) -> Result<(), FillError> {
    for event in batch.events.iter() {
        let Ok(entry) = known(&event.key) else { continue };
        if !is_same(entry.as_ref(), event.previous.as_ref()) {
            return Err(refused(batch, ANOTHER_HISTORY));
        }
    }
    Ok(())
}
