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
use std::sync::atomic::{AtomicU64, Ordering};

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
    counts: AuditCounts,
}

/// What was told so far.
#[derive(Debug, Default)]
struct AuditCounts {
    events: AtomicU64,
    /// Requests by the level that the policy has for them.
    levels: [AtomicU64; Level::NAMES.len()],
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
        (
            Self {
                policy,
                spools,
                clock,
                names,
                phrases: Phrases::new(names),
                counts: Default::default(),
            },
            writers,
        )
    }

    /// Events that no sink got so far, because its spool was full or it did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.spools.iter().map(|spool| spool.dropped()).sum()
    }

    /// Events that no sink got so far, by sink.
    #[must_use]
    pub fn dropped_by_sink(&self) -> Vec<(&'static str, u64)> {
        self.spools.iter().map(|spool| (spool.sink(), spool.dropped())).collect()
    }

    /// Events that were told so far.
    #[must_use]
    pub fn told(&self) -> u64 {
        self.counts.events.load(Ordering::Relaxed)
    }

    /// Requests so far, by the level that the policy has for them.
    #[must_use]
    pub fn requests_by_level(&self) -> Vec<(&'static str, u64)> {
        let counts = self.counts.levels.iter().map(|count| count.load(Ordering::Relaxed));
        Level::NAMES.into_iter().map(|(name, _)| name).zip(counts).collect()
    }

    fn count_request(&self, level: Level) {
        self.counts.levels[level as usize].fetch_add(1, Ordering::Relaxed);
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
        self.counts.events.fetch_add(1, Ordering::Relaxed);
        self.spools.iter().for_each(|spool| spool.put(room, &write));
    }
}
