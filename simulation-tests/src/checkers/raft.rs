//! The checker of Raft's safety properties, from the positions that members report while they run.
//!
//! - What is committed at an index never changes, on any member (state machine safety).
//! - A leader has everything that was committed under the leaders before it (leader completeness).
//! - A member's durable vote never goes back, not even over a restart, and no member leads by
//!   another's vote (election safety: votes are ordered by term and then by node, so there may be
//!   several leaders of one term, and never two of one vote).
//! - While it runs, a member's committed and applied positions never go back, and it applies
//!   nothing that is not committed.

use std::collections::BTreeMap;

use quorate_raft::replica::Positions;
use quorate_raft::types::LogId;
use quorate_store::NodeId;

/// Where a member was when it was last looked at.
#[derive(Debug)]
struct Last {
    start: u64,
    positions: Positions,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Raft {
    committed: BTreeMap<u64, LogId>,
    last: BTreeMap<NodeId, Last>,
}

impl Raft {
    /// Checks one member and returns what is wrong. `start` tells its restarts apart.
    pub(super) fn look(&mut self, node: NodeId, start: u64, positions: Positions) -> Vec<String> {
        let mut wrong = self.check_commits(node, &positions);
        if positions.leads {
            wrong.extend(self.check_leader(node, &positions));
        }
        let before = self.last.insert(node, Last { start, positions: positions.clone() });
        if let Some(before) = before {
            wrong.extend(check_progress(node, &before, start, &positions));
        }
        wrong
    }

    fn check_commits(&mut self, node: NodeId, positions: &Positions) -> Vec<String> {
        let mut wrong = Vec::new();
        if next(positions.applied) > next(positions.committed) {
            wrong.push(format!(
                "raft: node {node} has applied what it does not know to be committed"
            ));
        }
        for id in [positions.committed, positions.applied].into_iter().flatten() {
            let known = *self.committed.entry(id.index).or_insert(id);
            if known != id {
                wrong.push(format!(
                    "raft: entry {} is committed as {known} and, on node {node}, as {id}",
                    id.index
                ));
            }
        }
        wrong
    }

    fn check_leader(&self, node: NodeId, positions: &Positions) -> Vec<String> {
        let mut wrong = Vec::new();
        let leader = positions.vote.leader_id;
        if leader.node_id != node {
            wrong.push(format!("raft: node {node} leads by the vote of node {}", leader.node_id));
        }
        let before = self.committed.values().rev().find(|id| id.leader_id <= leader);
        if let Some(id) = before.filter(|id| next(positions.last) <= id.index) {
            wrong.push(format!("raft: node {node} leads by vote {leader} and does not have {id}, which is committed"));
        }
        wrong
    }
}

fn check_progress(node: NodeId, before: &Last, start: u64, now: &Positions) -> Option<String> {
    let then = &before.positions;
    let went_back = |what: &str| Some(format!("raft: the {what} of node {node} went back"));
    // Until it has written something a member that starts shows a vote of term 0.
    if now.vote.leader_id.term > 0 && now.vote.leader_id < then.vote.leader_id {
        return went_back("vote");
    }
    if before.start != start {
        return None;
    }
    if next(now.committed) < next(then.committed) {
        return went_back("committed position");
    }
    if next(now.applied) < next(then.applied) { went_back("applied position") } else { None }
}

fn next(id: Option<LogId>) -> u64 {
    id.map_or(0, |id| id.index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::vote::RaftLeaderId;
    use quorate_raft::types::Vote;

    fn id(term: u64, node: u64, index: u64) -> LogId {
        LogId { leader_id: RaftLeaderId::new(term, node), index }
    }

    fn at(vote: (u64, u64), leads: bool, last: u64, committed: u64) -> Positions {
        let (last, committed) =
            (Some(id(vote.0, vote.1, last)), Some(id(vote.0, vote.1, committed)));
        Positions {
            vote: Vote::new_committed(vote.0, vote.1),
            leads,
            last,
            committed,
            applied: committed,
            settled: true,
            installing: false,
            snapshots: 0,
        }
    }

    /// What is wrong with the last of these looks; nothing is with those before.
    fn check(looks: Vec<(NodeId, u64, Positions)>, expect: &str) {
        let mut raft = Raft::default();
        let count = looks.len();
        for (turn, (node, start, positions)) in looks.into_iter().enumerate() {
            let wrong = raft.look(node, start, positions);
            if turn + 1 < count || expect.is_empty() {
                assert_eq!(wrong, [""; 0]);
            } else {
                assert!(wrong.iter().any(|line| line.contains(expect)), "{wrong:?}");
            }
        }
    }

    #[test]
    fn finds_what_breaks_a_promise_of_raft() {
        check(vec![(1, 1, at((1, 1), true, 9, 8)), (2, 1, at((2, 2), true, 9, 9))], "");
        check(vec![(1, 1, at((1, 1), true, 9, 8)), (2, 1, at((1, 1), false, 8, 7))], "");
        check(
            vec![(1, 1, at((1, 1), true, 9, 8)), (2, 1, at((2, 2), true, 9, 8))],
            "is committed as",
        );
        check(
            vec![(1, 1, at((1, 1), true, 9, 8)), (2, 1, at((2, 2), true, 7, 7))],
            "does not have",
        );
        check(vec![(2, 1, at((2, 2), true, 9, 8)), (1, 1, at((1, 1), true, 7, 7))], "");
        check(vec![(2, 1, at((1, 1), true, 9, 8))], "by the vote of node 1");
        check(
            vec![(1, 1, at((3, 2), false, 9, 8)), (1, 2, at((2, 2), false, 9, 8))],
            "the vote of node 1",
        );
        check(vec![(1, 1, at((3, 2), false, 9, 8)), (1, 2, at((3, 2), false, 9, 6))], "");
        check(
            vec![(1, 1, at((3, 2), false, 9, 8)), (1, 1, at((3, 2), false, 9, 6))],
            "committed position",
        );
        let mut ahead = at((1, 1), false, 9, 8);
        ahead.committed = None;
        check(vec![(1, 1, ahead)], "not know to be committed");
    }

    #[test]
    fn a_leader_has_what_was_committed_before_it() {
        let with_log = |last: Option<LogId>| Positions {
            last,
            committed: None,
            applied: None,
            ..at((2, 2), true, 9, 8)
        };
        let committed = || (1, 1, at((1, 1), true, 9, 8));
        check(vec![committed(), (2, 1, with_log(Some(id(1, 1, 9))))], "");
        check(vec![committed(), (2, 1, with_log(Some(id(1, 1, 8))))], "");
        check(vec![committed(), (2, 1, with_log(Some(id(1, 1, 7))))], "and does not have");
        check(vec![committed(), (2, 1, with_log(None))], "and does not have");
        // A follower may lack it.
        let following = Positions { leads: false, ..with_log(Some(id(1, 1, 7))) };
        check(vec![committed(), (2, 1, following)], "");
        // It is the same leader that has lost the end of its log.
        check(vec![committed(), (1, 1, at((1, 1), true, 7, 7))], "and does not have");
    }

    #[test]
    fn what_a_member_has_shown_goes_back_only_where_it_may() {
        let back = Positions { applied: Some(id(3, 2, 7)), ..at((3, 2), false, 9, 8) };
        check(
            vec![(1, 1, at((3, 2), false, 9, 8)), (1, 1, back.clone())],
            "the applied position of node 1",
        );
        check(vec![(1, 1, at((3, 2), false, 9, 8)), (1, 2, back)], "");
        // The other half of the vote: the same term, and a smaller node.
        check(
            vec![(1, 1, at((3, 2), false, 9, 8)), (1, 1, at((3, 1), false, 9, 7))],
            "the vote of node 1",
        );
        let starting = Positions { vote: Vote::new_committed(0, 0), ..at((3, 2), false, 9, 8) };
        check(vec![(1, 1, at((3, 2), false, 9, 8)), (1, 2, starting)], "");
    }
}
