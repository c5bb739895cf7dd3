//! A group of log entries on its way into the database: decided one by one, written as one batch.
//!
//! Invariants: a key is written at most once per group, with its last value; the progress that a group leads to is in the same batch
//! as its changes. Deciding changes the caller's in-memory state at once, so a group that cannot be written is fatal.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Entry, Outcome, Retention, State, Txn};

use super::database::{Database, Generation, encode};
use super::error::storage;
use super::keyspace::{INDEXED_BATCHES, Key, history_key};
use super::progress::Position;
use super::record;
use super::window::Window;
use crate::types::{LogEntry, Payload, Response, StoredMembership};

/// Transactions beyond which no further entry is added to a group.
pub(super) const MAX_TRANSACTIONS: usize = INDEXED_BATCHES;
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
    transactions: usize,
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
                self.transactions += command.txns.len();
                let decide = |txn| self.decide_one(live, retention, command.time_ms, txn);
                Response { outcomes: command.txns.iter().map(decide).collect() }
            }
        }
    }

    /// Whether the group should be committed before another entry is decided.
    pub(super) fn is_full(&self) -> bool {
        self.entries >= MAX_TRANSACTIONS || self.transactions >= MAX_TRANSACTIONS || self.bytes >= MAX_BYTES
    }

    /// Whether no entry was decided.
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Whether one of its entries changed the membership.
    pub(super) fn changes_membership(&self) -> bool {
        self.membership
    }

    /// The changes in the order of their revisions.
    pub(super) fn batches(&self) -> &[Arc<Batch>] {
        &self.batches
    }

    /// Roughly the bytes of memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the group that follows.
    pub(super) fn append(&mut self, later: Self) {
        self.objects.extend(later.objects);
        self.batches.extend(later.batches);
        self.entries += later.entries;
        self.transactions += later.transactions;
        self.bytes += later.bytes;
        self.membership |= later.membership;
    }

    /// Writes everything as one batch, and with it the position that it leads to. It survives a crash of the process; see
    /// [`Database::persist`] for the machine.
    pub(super) fn write(&self, database: &Database, generation: &Generation, position: &Position) -> io::Result<()> {
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
        for batches in self.batches.chunks(INDEXED_BATCHES) {
            record::encode_index(batches.iter().map(|b| (b.time_ms, b.footprint() as u64)), &mut buffer);
            write.insert(&generation.index, history_key(batches[0].revision), &*buffer);
        }
        write.insert(&database.meta, Key::Applied.bytes(), encode(&position.progress));
        if self.membership {
            write.insert(&database.meta, Key::Membership.bytes(), encode(&position.membership));
        }
        write.commit().map_err(storage)
    }

    fn decide_one(&mut self, live: &mut Live, retention: Retention, time_ms: u64, txn: &Txn) -> Outcome {
        let applied = live.state.apply(time_ms, txn);
        live.position.progress.time_ms = live.state.time_ms();
        if let Some(batch) = applied.batch {
            self.take(live, retention, batch);
        }
        applied.outcome
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
