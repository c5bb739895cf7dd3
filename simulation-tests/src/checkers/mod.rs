//! The checkers: records of clients and samples of nodes against the committed history. Every
//! violation is one line.
//!
//! The committed history is read from every node in the end and must be the same everywhere;
//! revisions then are the witness of the order of everything, which makes linearizability of any
//! number of keys a matter of one pass.
//!
//! Declarations and the order of the checks only.

pub(crate) mod api;
pub(crate) mod definitions;
pub(crate) mod logs;
pub(crate) mod policies;

mod fingerprint;
mod history;
mod operations;
mod past;
mod raft;
mod recovery;
mod retention;
mod samples;
mod watches;

use std::sync::Arc;

use quorate_store::{Batch, NodeId, Retention};

use crate::workload::{self, StoreRecords};

use retention::KeptHistory;

pub(crate) use past::PastChecks;
pub(crate) use recovery::LostQuorum;
pub(crate) use samples::Samples;

/// Most violations that one run reports.
const MAX_VIOLATIONS: usize = 20;

/// Everything that is wrong.
pub(crate) fn check(
    histories: &[(NodeId, Vec<Arc<Batch>>)],
    records: &StoreRecords,
    samples: &Samples,
    retention: Retention,
    lost: Option<&(LostQuorum, Samples)>,
) -> Vec<String> {
    let mut violations = records.violations.clone();
    violations.extend(check_nodes(histories, samples));
    let Some((_, first)) = histories.first() else {
        return violations;
    };
    if let Some((lost, before)) = lost {
        violations.extend_from_slice(before.violations());
        match recovery::check(lost, before, first, (records, samples, retention)) {
            Ok(found) => violations.extend(found),
            Err(broken) => violations.push(broken),
        }
        violations.truncate(MAX_VIOLATIONS);
        return violations;
    }
    match history::History::new(first) {
        Err(broken) => violations.push(broken),
        Ok(history) => {
            violations.extend(operations::check(&history, &records.exchanges));
            let kept = KeptHistory::new(first, retention, operations::asked(&records.exchanges));
            violations.extend(watches::check(&history, &kept, &records.watches));
            violations.extend(samples.check(&history));
        }
    }
    violations.truncate(MAX_VIOLATIONS);
    violations
}

/// The same for a run whose clients worked with the API; `check` looks at what it told them.
pub(crate) fn check_api(
    histories: &[(NodeId, Vec<Arc<Batch>>)],
    records: &workload::api::ApiRecords,
    samples: &Samples,
    check: impl FnOnce(&[Arc<Batch>]) -> Vec<String>,
) -> Vec<String> {
    let mut violations = records.violations.clone();
    violations.extend(check_nodes(histories, samples));
    let Some((_, first)) = histories.first() else {
        return violations;
    };
    match history::History::of_any_values(first) {
        Err(broken) => violations.push(broken),
        Ok(history) => {
            violations.extend(samples.check(&history));
            violations.extend(check(first));
        }
    }
    violations.truncate(MAX_VIOLATIONS);
    violations
}

/// What the nodes say of each other, and what was seen of them while they ran.
fn check_nodes(histories: &[(NodeId, Vec<Arc<Batch>>)], samples: &Samples) -> Vec<String> {
    let mut violations = samples.violations().to_vec();
    let Some((first, history)) = histories.first() else {
        return violations;
    };
    for (node, other) in &histories[1..] {
        if let Some(difference) = history::difference(history, other) {
            violations
                .push(format!("history: node {node} differs from node {first}: {difference}"));
        }
    }
    violations
}
