//! Samples of running nodes: equal state at equal revision, nothing goes back; and their history as
//! it grows, since nodes do not keep all of it.
//!
//! Two leaders of one term are no violation here: votes are ordered by term and then by node, so
//! the leader of a higher number may replace the one of a lower number within a term (openraft's
//! `leader_id_adv`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use quorate_raft::Replica;
use quorate_store::{Batch, HistoryError, NodeId, Revision, Snapshot, State, Store};

use super::fingerprint::Fingerprint;
use super::history::History;
use super::raft::Raft;

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    digests: BTreeMap<Revision, (NodeId, u64)>,
    /// Every leader that was seen, with its term.
    leaders: BTreeSet<(u64, NodeId)>,
    /// Where each running node was last: start, term, revision.
    last: BTreeMap<NodeId, (u64, u64, Revision)>,
    fingerprints: BTreeMap<NodeId, Fingerprint>,
    raft: Raft,
    violations: Vec<String>,
    /// The revision before the first.
    base: Revision,
    /// Every committed batch after that.
    archive: Vec<Arc<Batch>>,
    /// How many snapshots have come to each running node.
    snapshots: BTreeMap<(NodeId, u64), u64>,
}

impl Samples {
    /// For a history that begins anew after a revision.
    pub(crate) fn after(base: Revision) -> Self {
        Self { base, ..Self::default() }
    }

    /// The revision before the first that is seen.
    pub(super) fn base(&self) -> Revision {
        self.base
    }

    /// Every committed batch up to a revision, if all of them were seen.
    pub(super) fn archive_up_to(&self, newest: Revision) -> Option<&[Arc<Batch>]> {
        let count = newest.get().checked_sub(self.base.get())?;
        self.archive.get(..usize::try_from(count).ok()?)
    }

    /// Every committed batch that was seen.
    pub(super) fn archive(&self) -> &[Arc<Batch>] {
        &self.archive
    }

    /// Samples one node. `start` tells its restarts apart.
    pub(crate) fn look(&mut self, node: NodeId, start: u64, replica: &Replica) {
        let (status, snapshot) = (replica.status(), replica.snapshot());
        let revision = snapshot.revision();
        let before = self.last.insert(node, (start, status.term, revision));
        if before.is_none_or(|(earlier, _, seen)| earlier != start || seen != revision) {
            self.compare(node, snapshot);
        }
        if status.leader == Some(node) {
            self.leaders.insert((status.term, node));
        }
        let positions = replica.positions();
        self.snapshots.insert((node, start), positions.snapshots);
        self.violations.extend(self.raft.look(node, start, positions));
        if revision > self.archived()
            && let Ok(news) = batches(replica, self.archived())
        {
            self.archive.extend(news);
        }
        if let Some((_, term, applied)) = before.filter(|(earlier, ..)| *earlier == start)
            && (status.term < term || revision < applied)
        {
            self.violations
                .push(format!("node {node} went back from term {term}, revision {applied}"));
        }
    }

    /// Holds a state that was not seen on this node yet against that of others at the same
    /// revision.
    fn compare(&mut self, node: NodeId, snapshot: Snapshot) {
        let (revision, digest) =
            (snapshot.revision(), self.fingerprints.entry(node).or_default().of(snapshot));
        let (other, expected) = *self.digests.entry(revision).or_insert((node, digest));
        if digest != expected {
            self.violations
                .push(format!("state: nodes {other} and {node} differ at revision {revision}"));
        }
    }

    fn archived(&self) -> Revision {
        self.archive.last().map_or(self.base, |batch| batch.revision)
    }

    /// Everything that the node ever committed: what it still keeps, after what was seen before.
    /// Nothing when every node had dropped something before it could be seen: then nothing can be
    /// said of the history, and it is not the nodes that are to blame.
    pub(crate) fn history(&self, replica: &Replica) -> Result<Vec<Arc<Batch>>, String> {
        let (oldest, seen) = (replica.status().oldest, self.archived());
        if seen < oldest {
            return Err(format!(
                "not observed: what came after {seen} was dropped up to {oldest} between two looks"
            ));
        }
        let kept = batches(replica, oldest).map_err(|error| error.to_string())?;
        let dropped = self.archive.iter().take_while(|batch| batch.revision <= oldest).cloned();
        Ok(dropped.chain(kept).collect())
    }

    /// How many snapshots were sent to nodes, and how many of them to a node that had got one since
    /// its start already.
    pub(crate) fn snapshots(&self) -> (u64, u64) {
        (
            self.snapshots.values().sum(),
            self.snapshots.values().map(|count| count.saturating_sub(1)).sum(),
        )
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
    pub(super) fn check(&self, history: &History<'_>) -> Vec<String> {
        let mut unexplained = self.digests.clone();
        // A new member begins with nothing, wherever the history begins.
        let empty = Fingerprint::default().of(State::new().snapshot());
        unexplained.retain(|at, (_, digest)| *at > Revision::ZERO || *digest != empty);
        let mut replayed = Fingerprint::default();
        history.replay(|state| {
            if let Some((node, digest)) = unexplained.remove(&state.revision())
                && replayed.of(state.snapshot()) != digest
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

/// Everything that a node keeps after a revision.
fn batches(replica: &Replica, after: Revision) -> Result<Vec<Arc<Batch>>, HistoryError> {
    let mut watch = replica.watch(Bytes::new(), after)?;
    let mut batches: Vec<Arc<Batch>> = Vec::new();
    while let Some(found) = watch.try_next()? {
        batches.push(found.batch().clone());
    }
    Ok(batches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::{Operation, Txn};

    /// The states that one key goes through with these values, and the batches of that.
    fn lived(values: &[&'static str]) -> (Vec<Snapshot>, Vec<Arc<Batch>>) {
        let mut state = State::new();
        let (mut states, mut batches) = (Vec::new(), Vec::new());
        for value in values {
            let operations = vec![Operation::Put { key: "a".into(), value: (*value).into() }];
            batches.extend(
                state.apply(0, &Txn { conditions: vec![], operations, ..Txn::default() }).batch,
            );
            states.push(state.snapshot());
        }
        (states, batches)
    }

    #[test]
    fn nodes_that_differ_at_one_revision_are_found() {
        let (one, _) = lived(&["1", "2"]);
        let (other, _) = lived(&["1", "3"]);
        let mut samples = Samples::default();
        samples.compare(1, one[0].clone());
        samples.compare(2, other[0].clone());
        samples.compare(1, one[1].clone());
        assert_eq!(samples.violations(), [""; 0]);
        samples.compare(2, other[1].clone());
        assert_eq!(samples.violations(), ["state: nodes 1 and 2 differ at revision 2"]);
        // A third one that agrees with the first is not to blame.
        samples.compare(3, one[1].clone());
        assert_eq!(samples.violations().len(), 1);
    }

    #[test]
    fn states_that_are_not_the_replay_are_found() {
        let (right, batches) = lived(&["1", "2"]);
        let (wrong, _) = lived(&["1", "3", "4"]);
        let history = History::new(&batches).unwrap();
        let check = |seen: &[&Snapshot], expect: &[&str]| {
            let mut samples = Samples::default();
            for state in seen {
                samples.compare(7, (*state).clone());
            }
            assert_eq!(samples.check(&history), expect);
        };
        let empty = State::new().snapshot();
        check(&[&empty, &right[0], &right[1]], &[]);
        check(&[&wrong[0]], &[]);
        check(
            &[&right[0], &wrong[1]],
            &["state: node 7 at revision 2 is not the replay of the history"],
        );
        // What the history does not reach.
        check(
            &[&right[1], &wrong[2]],
            &["state: node 7 at revision 3 is not the replay of the history"],
        );
    }
}
