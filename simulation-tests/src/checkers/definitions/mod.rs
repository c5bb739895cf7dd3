//! The checkers of custom resources against the committed history: the objects' lives, the ends of
//! watches, and what nodes serve.
//!
//! What a node told of objects is judged as that of built-in ones (`checkers::api`); the definitions
//! at each revision, which the history has as well, say what it should have served.
//!
//! Declarations, the order of the checks, and the figures of a run.

mod incarnations;
mod lifetime;
mod served;
mod watch_ends;

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_store::{Batch, Retention};

use super::api::object_history::ObjectHistory;
use super::api::times::Times;
use super::api::{objects, reads, watches, writes};
use super::retention::KeptHistory;
use crate::api::{ResourceKind, Verb};
use crate::workload::api::ApiRecords;
use incarnations::DefinitionHistory;

/// Everything that is wrong with what the API told clients of custom resources.
pub(crate) fn check(
    history: &[Arc<Batch>],
    records: &ApiRecords,
    retention: Retention,
) -> Vec<String> {
    let past = match ObjectHistory::read(history) {
        Ok(past) => past,
        Err(unreadable) => return vec![unreadable],
    };
    let times = Times::new(&past, records);
    let definitions = DefinitionHistory::new(&past);
    let mut violations = lifetime::check(&past, &definitions, records);
    violations.extend(watch_ends::check(&past, &times, &definitions, records));
    violations.extend(served::check(&times, &definitions, records));
    let kept = KeptHistory::new(history, retention, times.begun().to_vec());
    let objects = of_objects(records);
    violations.extend(objects::check(&past, &times, &objects));
    violations.extend(writes::check_done(&past, &times, &objects));
    violations.extend(reads::check(&past, &times, &kept, &objects));
    violations.extend(watches::check(&past, &times, &kept, &objects));
    violations
}

/// The records that speak of objects: without those that say what is served.
fn of_objects(records: &ApiRecords) -> ApiRecords {
    let exchanges = records.exchanges.iter().filter(|exchange| {
        let ask = &exchange.what.ask;
        let unserved = exchange.what.reply.as_ref().is_some_and(|reply| reply.is_unserved());
        !(unserved && ask.kind.is_custom() || ask.table || ask.verb == Verb::Discover)
    });
    let watches = records
        .watches
        .iter()
        .filter(|run| run.refused.as_ref().is_none_or(|(_, reply)| !reply.is_unserved()));
    ApiRecords {
        exchanges: exchanges.cloned().collect(),
        watches: watches.cloned().collect(),
        violations: Vec::new(),
    }
}

/// How often clients did what to definitions.
pub(crate) fn counts(records: &ApiRecords) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut count = |name: &str| *counts.entry(name.to_owned()).or_default() += 1;
    for exchange in &records.exchanges {
        let ask = &exchange.what.ask;
        let Some(reply) = &exchange.what.reply else { continue };
        match ask.verb {
            _ if reply.is_unserved() && ask.kind.is_custom() => count("not known to a node"),
            _ if ask.kind != ResourceKind::Definitions || !reply.is_success() => {}
            Verb::Create => count("definitions created"),
            Verb::Update | Verb::MergePatch => count("definitions changed"),
            Verb::Delete => count("deletions of definitions"),
            _ => {}
        }
    }
    for run in records.watches.iter().filter(|run| run.ended.is_some()) {
        if run.ask.kind.is_custom() {
            count("watches ended");
        }
    }
    counts
}
