//! The nodes looked at while they run: equal state at equal revision, one leader a term, nothing goes back.

use std::collections::BTreeMap;

use quorate_raft::Replica;
use quorate_store::{NodeId, Revision, Store};

use super::chronicle::Chronicle;

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    digests: BTreeMap<Revision, (NodeId, u64)>,
    leaders: BTreeMap<u64, NodeId>,
    /// Where each running node was last: start, term, revision.
    last: BTreeMap<NodeId, (u64, u64, Revision)>,
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
            let leader = *self.leaders.entry(status.term).or_insert(node);
            if leader != node {
                self.violations.push(format!("election: nodes {leader} and {node} both lead term {}", status.term));
            }
        }
        let before = self.last.insert(node, (start, status.term, revision));
        if let Some((_, term, applied)) = before.filter(|(earlier, ..)| *earlier == start)
            && (status.term < term || revision < applied)
        {
            self.violations.push(format!("node {node} went back from term {term}, revision {applied}"));
        }
    }

    /// How many terms had a leader, and at how many revisions states were compared.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.leaders.len(), self.digests.len())
    }

    /// What was wrong when it was seen.
    pub(super) fn violations(&self) -> &[String] {
        &self.violations
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
