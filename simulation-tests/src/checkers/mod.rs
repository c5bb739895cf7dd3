//! The checkers: what clients and nodes remember, held against the committed history. Every violation is one line.
//!
//! The committed history is read from every node in the end and must be the same everywhere; revisions then are the witness of the
//! order of everything, which makes linearizability of any number of keys a matter of one pass.
//!
//! Declarations and the order of the checks only.

pub(crate) mod logs;

mod chronicle;
mod operations;
mod raft;
mod samples;
mod watches;

use std::sync::Arc;

use quorate_store::{Batch, NodeId};

use crate::workload::Records;

pub(crate) use samples::Samples;

/// Most violations that one run reports.
const MAX_VIOLATIONS: usize = 20;

/// Everything that is wrong.
pub(crate) fn check(histories: &[(NodeId, Vec<Arc<Batch>>)], records: &Records, samples: &Samples) -> Vec<String> {
    let mut violations = records.violations.clone();
    violations.extend(samples.violations().iter().cloned());
    let Some((_, first)) = histories.first() else { return violations };
    for (node, history) in &histories[1..] {
        if let Some(difference) = chronicle::difference(first, history) {
            violations.push(format!("history: node {node} differs from node {}: {difference}", histories[0].0));
        }
    }
    match chronicle::Chronicle::new(first) {
        Err(broken) => violations.push(broken),
        Ok(chronicle) => {
            violations.extend(operations::check(&chronicle, &records.records));
            violations.extend(watches::check(&chronicle, &records.watches));
            violations.extend(samples.check(&chronicle));
        }
    }
    violations.truncate(MAX_VIOLATIONS);
    violations
}
