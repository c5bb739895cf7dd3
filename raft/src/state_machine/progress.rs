//! The progress of the state machine: how far it has applied, and enough about the result to notice
//! damage.
//!
//! Invariant: a [`Progress`] is stored in the same frame as the changes that it describes, so it is
//! exact after any crash. This file does no IO.

use quorate_store::{Batch, Entry, Event, Revision};
use serde::{Deserialize, Serialize};

use super::checksum::Checksum;
use crate::types::{LogId, StoredMembership};

/// What a frame of the journal leads to, and a part of every snapshot's header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The last applied entry; `None` before the first.
    pub log_id: Option<LogId>,
    /// The revision of the last committed transaction.
    pub revision: Revision,
    /// The state's clock, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// How many objects there are.
    pub objects: u64,
    /// Bytes of their keys and values.
    pub size: u64,
    /// Checksum of all objects.
    pub checksum: Checksum,
    /// The oldest revision that is readable exactly.
    pub oldest: Revision,
}

impl Progress {
    /// Takes one committed batch in: the revision and what the objects amount to.
    pub(super) fn advance(&mut self, batch: &Batch) {
        self.revision = batch.revision;
        for Event { key, current, previous } in batch.events.iter() {
            if let Some(entry) = previous {
                self.discount(key, entry);
            }
            if let Some(entry) = current {
                self.count(key, entry);
            }
        }
    }

    /// Takes one more object in.
    pub(super) fn count(&mut self, key: &[u8], entry: &Entry) {
        self.objects += 1;
        self.size += (key.len() + entry.value.len()) as u64;
        self.checksum.add(key, entry);
    }

    /// Takes one object out.
    pub(super) fn discount(&mut self, key: &[u8], entry: &Entry) {
        self.objects -= 1;
        self.size -= (key.len() + entry.value.len()) as u64;
        self.checksum.remove(key, entry);
    }

    /// What differs from `found`, for one clear line; `None` when the objects agree.
    pub(super) fn difference(&self, found: &Self) -> Option<String> {
        let parts = [
            ("objects", self.objects, found.objects),
            ("bytes", self.size, found.size),
            ("checksum", self.checksum.get(), found.checksum.get()),
        ];
        let (what, expected, found) =
            parts.into_iter().find(|(_, expected, found)| expected != found)?;
        Some(format!("{what}: {expected} expected, {found} found"))
    }
}

/// A progress and the membership that goes with it: all that a snapshot is beside objects and
/// history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// How far, and what the state amounts to.
    pub progress: Progress,
    /// The last applied membership.
    pub membership: StoredMembership,
}

/// A record of this crate's own as bytes.
pub(super) fn encode<T: Serialize>(record: &T) -> Vec<u8> {
    postcard::to_stdvec(record).expect("a vector grows and the record has no failing parts")
}
