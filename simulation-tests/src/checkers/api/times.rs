//! Real-time order of revisions, from the times at which clients sent requests and received
//! answers.
//!
//! - A revision that a client has been shown by some time is committed by then: a request that
//!   begins later comes after it, or sees it.
//! - A write that was sent after some time was not committed by then: a request that ended earlier
//!   cannot have seen it.
//! - A node never shows less than it has shown before.

use std::collections::BTreeMap;
use std::time::Duration;

use super::object_history::ObjectHistory;
use crate::api::version;
use crate::workload::api::ApiRecords;

/// Bounds on the time at which each revision was committed.
pub(in crate::checkers) struct Times {
    /// Until when which revision had been shown; both ascending.
    shown: Vec<(Duration, u64)>,
    /// The same for each node.
    shown_by: BTreeMap<u64, Vec<(Duration, u64)>>,
    /// From when on which revision may have been written: both ascending.
    begun: Vec<(Duration, u64)>,
    newest: u64,
}

impl Times {
    pub(in crate::checkers) fn new(past: &ObjectHistory, records: &ApiRecords) -> Self {
        let (mut shown, mut shown_by): (Vec<_>, BTreeMap<u64, Vec<_>>) = Default::default();
        let mut asked = BTreeMap::new();
        for exchange in &records.exchanges {
            if let Some(stamp) = &exchange.what.ask.stamp {
                asked.insert(stamp.as_str(), exchange.asked);
            }
            let Some(reply) = exchange.what.reply.as_ref().filter(|reply| reply.is_success())
            else {
                continue;
            };
            let revision = if exchange.what.ask.dry_run {
                reply.revision
            } else {
                reply.revision.or(reply.version())
            };
            let Some(revision) = revision else { continue };
            shown.push((exchange.answered, revision));
            if !exchange.what.ask.writes() {
                shown_by.entry(exchange.node).or_default().push((exchange.answered, revision));
            }
        }
        for run in &records.watches {
            for (time, line) in run.lines.iter().filter(|(_, line)| line["type"] != "ERROR") {
                shown.extend(version(&line["object"]).map(|revision| (*time, revision)));
            }
        }
        let mut begun: Vec<(Duration, u64)> = past
            .stamps()
            .filter_map(|(stamp, revision)| Some((*asked.get(stamp)?, revision)))
            .collect();
        // From the end: the smallest revision of all that began later.
        begun.sort_unstable();
        let mut least = u64::MAX;
        for (_, revision) in begun.iter_mut().rev() {
            least = least.min(*revision);
            *revision = least;
        }
        shown_by.values_mut().for_each(rising);
        rising(&mut shown);
        Self { shown, shown_by, begun, newest: past.newest() }
    }

    /// The newest revision that had been shown to any client before.
    pub(in crate::checkers) fn shown_before(&self, time: Duration) -> u64 {
        before(&self.shown, time)
    }

    /// The newest revision that a node had shown before.
    pub(in crate::checkers) fn shown_by(&self, node: u64, time: Duration) -> u64 {
        self.shown_by.get(&node).map_or(0, |shown| before(shown, time))
    }

    /// From when on which revision may have been written, both ascending.
    pub(in crate::checkers) fn begun(&self) -> &[(Duration, u64)] {
        &self.begun
    }

    /// The newest revision that can have been committed by then.
    pub(in crate::checkers) fn possible_at(&self, time: Duration) -> u64 {
        let later = self.begun.partition_point(|(begun, _)| *begun <= time);
        self.begun.get(later).map_or(self.newest, |(_, revision)| revision - 1)
    }
}

/// Sorts by time, and makes each revision the newest so far.
fn rising(shown: &mut Vec<(Duration, u64)>) {
    shown.sort_unstable();
    let mut newest = 0;
    for (_, revision) in shown {
        newest = newest.max(*revision);
        *revision = newest;
    }
}

fn before(shown: &[(Duration, u64)], time: Duration) -> u64 {
    let after = shown.partition_point(|(shown, _)| *shown < time);
    shown[..after].last().map_or(0, |(_, revision)| *revision)
}
