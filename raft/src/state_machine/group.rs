//! A group of log entries on its way into the database: decided one by one, written as one batch.
//!
//! Invariants: a key is written at most once per group, with its last value; the group's progress is in the same batch as
//! its changes. Deciding changes the caller's in-memory state at once, so a group whose commit fails is fatal.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, State};

use super::database::{Database, Generation, encode};
use super::error::storage;
use super::keyspace::{INDEXED_BATCHES, Key, history_key};
use super::progress::Position;
use super::record;
use super::window::Window;
use crate::types::{LogEntry, Payload, Response, StoredMembership};
use quorate_store::Retention;

/// Entries that are written as one batch at most; one index record describes them.
pub(super) const MAX_ENTRIES: usize = INDEXED_BATCHES;
/// Footprint of a group's batches, in bytes, beyond which no further entry is added to it.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// What the applier works on, in memory. Always as far as the last decided entry.
pub(super) struct Live {
    pub(super) state: State,
    pub(super) position: Position,
    pub(super) window: Window,
}

/// The changes of the entries decided so far.
#[derive(Default)]
pub(super) struct Group {
    objects: BTreeMap<Bytes, Option<Entry>>,
    batches: Vec<Arc<Batch>>,
    entries: usize,
    bytes: usize,
    membership: bool,
}

impl Group {
    /// Decides one entry on `live` and remembers what it changes.
    pub(super) fn decide(&mut self, live: &mut Live, retention: Retention, entry: LogEntry) -> Response {
        self.entries += 1;
        let log_id = entry.log_id;
        live.position.progress.log_id = Some(log_id);
        match entry.payload {
            Payload::Blank => Response::default(),
            Payload::Membership(membership) => {
                live.position.membership = StoredMembership::new(Some(log_id), membership);
                self.membership = true;
                Response::default()
            }
            Payload::Normal(command) => {
                let applied = live.state.apply(command.time_ms, &command.txn);
                live.position.progress.time_ms = live.state.time_ms();
                if let Some(batch) = applied.batch {
                    self.take(live, retention, batch);
                }
                Response { outcome: Some(applied.outcome) }
            }
        }
    }

    /// Whether the group should be committed before another entry is decided.
    pub(super) fn is_full(&self) -> bool {
        self.entries >= MAX_ENTRIES || self.bytes >= MAX_BYTES
    }

    /// Whether no entry was decided.
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Writes everything as one batch. It survives a crash of the process; see [`Database::persist`] for the machine.
    /// Gives the batches for the serving form.
    pub(super) fn commit(
        self,
        database: &Database,
        generation: &Generation,
        live: &Live,
    ) -> io::Result<Vec<Arc<Batch>>> {
        let mut write = database.batch();
        let mut buffer = Vec::new();
        for (key, entry) in &self.objects {
            match entry {
                Some(entry) => {
                    record::encode_object(entry, &mut buffer);
                    write.insert(&generation.objects, &**key, &*buffer);
                }
                None => write.remove(&generation.objects, &**key),
            }
        }
        for batch in &self.batches {
            record::encode_history(batch, &mut buffer);
            write.insert(&generation.history, history_key(batch.revision), &*buffer);
        }
        if let Some(first) = self.batches.first() {
            record::encode_index(self.batches.iter().map(|b| (b.time_ms, b.footprint() as u64)), &mut buffer);
            write.insert(&generation.index, history_key(first.revision), &*buffer);
        }
        write.insert(&database.meta, Key::Applied.bytes(), encode(&live.position.progress));
        if self.membership {
            write.insert(&database.meta, Key::Membership.bytes(), encode(&live.position.membership));
        }
        write.commit().map_err(storage)?;
        Ok(self.batches)
    }

    fn take(&mut self, live: &mut Live, retention: Retention, batch: Arc<Batch>) {
        let footprint = batch.footprint();
        self.bytes += footprint;
        live.window.push(batch.time_ms, footprint as u64);
        live.window.trim(retention);
        live.position.progress.advance(&batch);
        live.position.progress.oldest = live.window.oldest();
        for event in batch.events.iter() {
            self.objects.insert(event.key.clone(), event.current.clone());
        }
        self.batches.push(batch);
    }
}
