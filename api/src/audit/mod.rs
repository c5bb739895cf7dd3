//! The audit trail: one JSON line for each stage of a request, from its user to its outcome.
//!
//! `policy` says how much of which request is told ([`Policy`]), `RequestEvents` makes the events
//! of one request from the record of it, a spool holds them until its [`Sink`] takes them.
//! Invariants: a request never waits for a sink: what finds its spool full is dropped and counted;
//! bodies of secrets and of what carries tokens are never told, whatever the policy says.

mod event;
mod json_members;
mod lines;
mod policy;
mod read;
mod request_events;
mod sender;
mod spool;

use std::sync::Arc;

use http::HeaderMap;
use quorate_env::Clock;
use quorate_meta::{Names, Time};

pub use lines::{BLOCK_BYTES, Lines};
pub use policy::{Level, Policy, Stage};
pub use read::{InvalidPolicy, parse_policy};
pub(crate) use request_events::RequestEvents;
pub use spool::{AuditWriter, AuditWriterHandle, Batching, Sink, SpoolOptions};

use crate::request_record::RequestRecord;
use event::Phrases;
use quorate_access::authentication::ConnectionIdentity;
use spool::Spool;

/// The audit trail of one node.
#[derive(Debug)]
pub struct Audit {
    policy: Policy,
    spools: Vec<Arc<Spool>>,
    clock: Arc<dyn Clock>,
    names: &'static Names,
    phrases: Phrases,
}

impl Audit {
    /// A trail under this policy that leads to these sinks, and what carries the events there.
    #[must_use]
    pub fn new(
        policy: Policy,
        sinks: Vec<(Box<dyn Sink>, SpoolOptions)>,
        clock: Arc<dyn Clock>,
        names: &'static Names,
    ) -> (Self, Vec<(AuditWriter, AuditWriterHandle)>) {
        let writers: Vec<_> =
            sinks.into_iter().map(|(sink, options)| AuditWriter::new(sink, options)).collect();
        let spools = writers.iter().map(|(writer, _)| writer.spool()).collect();
        (Self { policy, spools, clock, names, phrases: Phrases::new(names) }, writers)
    }

    /// Events that no sink got so far, because its spool was full or it did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.spools.iter().map(|spool| spool.dropped()).sum()
    }

    /// The events of a request that has come in over the connection of this identity, and the first
    /// of them.
    pub(crate) fn request_received(
        &self,
        record: &RequestRecord<'_>,
        identity: &ConnectionIdentity,
        headers: &HeaderMap,
    ) -> RequestEvents {
        RequestEvents::new(self, record, identity, headers)
    }

    fn now(&self) -> Time {
        Time::from_ms(self.clock.now_ms())
    }

    /// Puts an event of so many bytes at most on its way to every sink.
    fn put(&self, room: usize, write: impl Fn(&mut Vec<u8>)) {
        self.spools.iter().for_each(|spool| spool.put(room, &write));
    }
}
