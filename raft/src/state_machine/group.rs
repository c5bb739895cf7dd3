//! A group of log entries on its way into the journal: decided one by one, written as one frame.
//!
//! Deciding changes the caller's in-memory state at once, so a group that cannot be written is
//! fatal.

use std::sync::Arc;

use quorate_store::{Batch, Outcome, Retention, State, Txn};

use super::progress::Position;
use super::retention::RetentionWindow;
use crate::types::{LogEntry, Payload, Response, StoredMembership};

/// Transactions beyond which no further entry is added to a group.
pub(super) const MAX_TRANSACTIONS: usize = 1024;
/// Footprint of a group's batches, in bytes, beyond which no further entry is added to it.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// What the applier works on, in memory. Always as far as the last decided entry.
pub(super) struct Live {
    pub(super) state: State,
    pub(super) position: Position,
    pub(super) window: RetentionWindow,
}

/// The changes of the entries decided so far.
#[derive(Default)]
pub(super) struct Group {
    batches: Vec<Arc<Batch>>,
    entries: usize,
    transactions: usize,
    bytes: usize,
    membership: bool,
}

impl Group {
    /// Decides one entry on `live` and remembers what it changes.
    pub(super) fn decide(
        &mut self,
        live: &mut Live,
        retention: Retention,
        entry: LogEntry,
    ) -> Response {
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
                let outcomes = command.txns.iter().map(decide).collect();
                Response { outcomes, applied: None }
            }
        }
    }

    /// Whether the group should be committed before another entry is decided.
    pub(super) fn is_full(&self) -> bool {
        self.entries >= MAX_TRANSACTIONS
            || self.transactions >= MAX_TRANSACTIONS
            || self.bytes >= MAX_BYTES
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
        self.batches.extend(later.batches);
        self.entries += later.entries;
        self.transactions += later.transactions;
        self.bytes += later.bytes;
        self.membership |= later.membership;
    }

    fn decide_one(
        &mut self,
        live: &mut Live,
        retention: Retention,
        time_ms: u64,
        txn: &Txn,
    ) -> Outcome {
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
        self.batches.push(batch);
    }
}
