//! The nodes looked at while they run: equal state at equal revision, nothing goes back.
//!
//! Two leaders of one term are no violation here: votes are ordered by term and then by node, so the leader of a higher number
//! may replace the one of a lower number within a term (openraft's `leader_id_adv`).

use std::collections::{BTreeMap, BTreeSet};

use quorate_raft::Replica;
use quorate_store::{NodeId, Revision, Store};

use super::chronicle::Chronicle;
use super::raft::Raft;

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    digests: BTreeMap<Revision, (NodeId, u64)>,
    /// Every leader that was seen, with its term.
    leaders: BTreeSet<(u64, NodeId)>,
    /// Where each running node was last: start, term, revision.
    last: BTreeMap<NodeId, (u64, u64, Revision)>,
    raft: Raft,
    violations: Vec<String>,
}

impl Samples {
    /// Looks at one node. `start` tells its restarts apart.
    pub(crate) fn look(&mut self, node: NodeId, start: u64, replica: &Replica) {
        let (status, snapshot) = (replica.status(), replica.snapshot());
        let (revision, digest) = (snapshot.revision(), snapshot.digest());
        let (other, expected) = *self.digests.entry(revision).or_insert((node, digest));
        if digest != expected {
            self.violations.push(format!("state: nodes {other} and {node} differ at revision {revision}"));
        }
        if status.leader == Some(node) {
            self.leaders.insert((status.term, node));
        }
        self.violations.extend(self.raft.look(node, start, replica.positions()));
        let before = self.last.insert(node, (start, status.term, revision));
        if let Some((_, term, applied)) = before.filter(|(earlier, ..)| *earlier == start)
            && (status.term < term || revision < applied)
        {
            self.violations.push(format!("node {node} went back from term {term}, revision {applied}"));
        }
    }

    /// How many leaderships there were, and at how many revisions states were compared.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.leaders.len(), self.digests.len())
    }

    /// What was wrong when it was seen.
    pub(super) fn violations(&self) -> &[String] {
        &self.violations[..self.violations.len().min(super::MAX_VIOLATIONS)]
    }

    /// The states seen against a replay of the history.
    pub(super) fn check(&self, chronicle: &Chronicle<'_>) -> Vec<String> {
        let mut unexplained = self.digests.clone();
        chronicle.replay(|state| {
            if let Some((node, digest)) = unexplained.remove(&state.revision())
                && state.snapshot().digest() != digest
            {
                unexplained.insert(state.revision(), (node, digest));
            }
        });
        let line = |(at, (node, _)): (&Revision, &(NodeId, u64))| {
            format!("state: node {node} at revision {at} is not the replay of the history")
        };
        unexplained.iter().map(line).collect()
    }
}
