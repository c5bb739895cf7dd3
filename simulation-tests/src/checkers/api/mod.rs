//! The checkers of the API against the committed history: objects, writes, reads and watches.
//!
//! The committed history is the witness of the order of everything: a write names its revision, a
//! read the revision of the state that it shows. So each of them has one place in the order, and
//! real time must agree with it: linearizability of any number of objects in one pass. An unknown
//! outcome may be in the history or not, but at most once.
//!
//! Declarations, the order of the checks, and the figures of a run.

mod addresses;
mod rest;

pub(super) mod object_history;
pub(super) mod objects;
pub(super) mod reads;
pub(super) mod times;
pub(super) mod watches;
pub(super) mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use quorate_store::{Batch, Retention};

use super::retention::KeptHistory;
use crate::api::Verb;
use crate::workload::api::ApiRecords;
use object_history::ObjectHistory;
use times::Times;

pub(crate) use rest::unfinished;

/// Everything that is wrong with what the API told its clients.
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
    let kept = KeptHistory::new(history, retention, times.begun().to_vec());
    let mut violations = objects::check(&past, &times, records);
    violations.extend(addresses::check(&past));
    violations.extend(writes::check(&past, &times, records));
    violations.extend(reads::check(&past, &times, &kept, records));
    violations.extend(watches::check(&past, &times, &kept, records));
    violations
}

/// How often clients did what.
pub(crate) fn counts(records: &ApiRecords) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut count =
        |name: &str, by: usize| *counts.entry(name.to_owned()).or_default() += by as u64;
    for exchange in &records.exchanges {
        let what = match exchange.what.ask.verb {
            Verb::Create => "creations",
            Verb::Update => "updates",
            Verb::MergePatch | Verb::JsonPatch => "patches",
            Verb::Apply => "applies",
            Verb::Delete => "deletions",
            Verb::Get => "gets",
            Verb::List if exchange.what.ask.table => "tables",
            Verb::List | Verb::Watch => "lists",
            Verb::Discover => "discoveries",
        };
        match &exchange.what.reply {
            Some(reply) if reply.is_success() && exchange.what.ask.dry_run => count("dry runs", 1),
            Some(reply) if reply.is_success() => count(what, 1),
            Some(reply) if matches!(reply.status, 404 | 409 | 403 | 422) => {
                count("refused by the API", 1)
            }
            Some(reply) if reply.status == 410 => count("no longer kept", 1),
            Some(reply) if reply.status == 504 => count("unknown to the API", 1),
            Some(_) => count("not served", 1),
            None => count("unanswered", 1),
        }
    }
    for run in &records.watches {
        count("watches", 1);
        let expired = |line: &Value| line["type"] == "ERROR" && line["object"]["code"] == 410;
        count("watches expired", run.lines.iter().filter(|(_, line)| expired(line)).count());
        count(
            "watches expired",
            run.refused.iter().filter(|(_, reply)| reply.status == 410).count(),
        );
        count("watch events", run.lines.len());
        count("bookmarks", run.lines.iter().filter(|(_, line)| line["type"] == "BOOKMARK").count());
    }
    counts
}
