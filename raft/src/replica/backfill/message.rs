//! The messages of a back-fill.
//!
//! Invariant: a transaction travels as the record that the journal keeps of it, which has the state
//! before a change in full and of the state after it the difference.

use std::sync::Arc;

use bytes::Bytes;
use quorate_store::{Batch, Revision};
use serde::{Deserialize, Serialize};
use tonic::Status;

use crate::state_machine::{decode_history, encode_history};

/// Asks what the archive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InventoryRequest {
    /// Nothing that is older, milliseconds since the Unix epoch.
    pub(super) since_ms: u64,
}

/// Asks for transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangesRequest {
    /// The revision before the first one.
    pub(super) after: Revision,
    /// About how many bytes of [`Batch::footprint`].
    pub(super) max_bytes: u64,
}

/// Transactions in their order; none where the archive does not have what comes next.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangesAnswer(Vec<(Revision, Bytes)>);

impl ChangesAnswer {
    /// With these transactions.
    pub(super) fn of(batches: &[Arc<Batch>]) -> Self {
        let mut buffer = Vec::new();
        let mut record = |batch: &Batch| {
            encode_history(batch, &mut buffer);
            (batch.revision, Bytes::copy_from_slice(&buffer))
        };
        Self(batches.iter().map(|batch| record(batch)).collect())
    }

    /// The transactions in it.
    pub(super) fn into_batches(self) -> Result<Vec<Arc<Batch>>, Status> {
        let batch = |(revision, record): (Revision, Bytes)| {
            decode_history(revision, &record).map(Arc::new).ok_or_else(|| {
                Status::invalid_argument(format!("the record of revision {revision} is damaged"))
            })
        };
        self.0.into_iter().map(batch).collect()
    }
}

#[cfg(test)]
mod tests {
    use quorate_store::{Entry, Event};

    use super::*;
    use crate::network::wire::{decode, encode};

    #[test]
    fn transactions_survive_the_wire_and_damage_is_an_error() {
        let entry = |value: &'static str, modified| Entry {
            value: value.into(),
            created: Revision::new(2),
            modified: Revision::new(modified),
        };
        let events = [
            Event {
                key: "a".into(),
                current: Some(entry("some new", 7)),
                previous: Some(entry("some old", 3)),
            },
            Event { key: "b".into(), current: None, previous: Some(entry("", 4)) },
        ];
        let batch = |revision, events: &[Event]| {
            let (revision, origin) = (Revision::new(revision), "a user".into());
            Arc::new(Batch { revision, time_ms: 12, events: events.into(), origin })
        };
        let batches = vec![batch(7, &events), batch(8, &[])];
        let encoded = encode(&ChangesAnswer::of(&batches));
        let decoded: ChangesAnswer = decode(&encoded).expect("it was not changed");
        assert_eq!(decoded.into_batches().expect("the records are whole"), batches);
        let ChangesAnswer(mut records) = ChangesAnswer::of(&batches);
        records[0].1.truncate(20);
        assert!(ChangesAnswer(records).into_batches().is_err());
    }
}
