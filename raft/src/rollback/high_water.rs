//! High water marks: the most that each other member has shown of itself to this one since this one
//! started.
//!
//! Invariant: a mark only holds what its member must have made durable before it was seen.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use openraft::raft::{StreamAppendError, StreamAppendResult};
use parking_lot::Mutex;
use quorate_store::NodeId;
use serde::{Deserialize, Serialize};

use crate::types::{LeaderId, LogId, TypeConfig};

/// How far a member was. Ordered: a member never goes back, for entries are only taken from it by a
/// later leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct HighWaterMark {
    /// The last leader that it voted for or followed; itself, if it stood for election.
    pub(crate) leader: LeaderId,
    /// The last entry that it confirmed to that leader.
    pub(crate) last: Option<LogId>,
}

impl fmt::Display for HighWaterMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vote {}", self.leader)?;
        self.last.map_or(Ok(()), |last| write!(f, " and entry {last}"))
    }
}

/// The marks of all other members.
#[derive(Debug, Default)]
pub(crate) struct HighWaterMarks {
    marks: Mutex<BTreeMap<NodeId, HighWaterMark>>,
}

impl HighWaterMarks {
    /// A member was seen with this vote.
    pub(crate) fn voted(&self, node: NodeId, leader: LeaderId) {
        self.raise(node, HighWaterMark { leader, last: None });
    }

    /// What is known of a member.
    pub(crate) fn of(&self, node: NodeId) -> Option<HighWaterMark> {
        self.marks.lock().get(&node).copied()
    }

    fn raise(&self, node: NodeId, shown: HighWaterMark) {
        let mut all = self.marks.lock();
        let known = all.entry(node).or_insert(shown);
        *known = shown.max(*known);
    }
}

/// The mark of one follower while this member leads.
#[derive(Debug, Clone)]
pub(crate) struct FollowerMark {
    pub(crate) node: NodeId,
    pub(crate) marks: Arc<HighWaterMarks>,
}

impl FollowerMark {
    /// The follower has installed a snapshot of this leader up to this entry: Raft takes that for a
    /// confirmation of all that is in it.
    pub(crate) fn installed(&self, leader: LeaderId, last: Option<LogId>) {
        self.marks.raise(self.node, HighWaterMark { leader, last });
    }

    /// The follower has answered this leader's entries. Refuses an answer that takes back what was
    /// confirmed to the same leader.
    pub(crate) fn answered(
        &self,
        leader: LeaderId,
        answer: &StreamAppendResult<TypeConfig>,
    ) -> Result<(), String> {
        match answer {
            Ok(last) => self.marks.raise(self.node, HighWaterMark { leader, last: *last }),
            Err(StreamAppendError::Conflict(at)) => {
                let confirmed = self.marks.of(self.node).filter(|shown| shown.leader == leader);
                if let Some(confirmed) = confirmed.and_then(|shown| shown.last)
                    && confirmed.index >= at.index
                {
                    let node = self.node;
                    return Err(format!(
                        "node {node} has confirmed {confirmed} and does not have {at} any more"
                    ));
                }
            }
            Err(StreamAppendError::HigherVote(_)) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::vote::RaftLeaderId;

    fn id(term: u64, index: u64) -> LogId {
        LogId { leader_id: RaftLeaderId::new(term, 1), index }
    }

    fn follower() -> FollowerMark {
        FollowerMark { node: 2, marks: Arc::new(HighWaterMarks::default()) }
    }

    #[test]
    fn the_most_that_was_shown_stays() {
        let follower = follower();
        let (first, second): (LeaderId, LeaderId) =
            (RaftLeaderId::new(1, 1), RaftLeaderId::new(2, 3));
        let check =
            |leader, last| assert_eq!(follower.marks.of(2), Some(HighWaterMark { leader, last }));
        follower.answered(first, &Ok(Some(id(1, 9)))).unwrap();
        follower.answered(first, &Ok(Some(id(1, 7)))).unwrap();
        check(first, Some(id(1, 9)));
        follower.marks.voted(2, second);
        follower.answered(first, &Ok(Some(id(1, 12)))).unwrap();
        check(second, None);
        assert_eq!(follower.marks.of(3), None);
    }

    #[test]
    fn a_follower_takes_nothing_back() {
        let follower = follower();
        let (leader, next): (LeaderId, LeaderId) =
            (RaftLeaderId::new(1, 1), RaftLeaderId::new(2, 1));
        let conflict = |index| Err(StreamAppendError::Conflict(id(1, index)));
        follower.answered(leader, &conflict(9)).expect("it has confirmed nothing yet");
        follower.answered(leader, &Ok(Some(id(1, 6)))).unwrap();
        follower.answered(leader, &conflict(7)).expect("it has confirmed less");
        follower.answered(leader, &conflict(6)).expect_err("it has confirmed this");
        follower.answered(next, &conflict(6)).expect("a later leader may have taken it");
        follower.installed(next, Some(id(1, 20)));
        follower
            .answered(next, &conflict(20))
            .expect_err("it was in a snapshot that it has installed");
        follower.answered(next, &conflict(21)).expect("it was not in that");
    }

    #[test]
    fn going_back_is_seen_by_the_vote_and_by_the_log() {
        let shown = |term, last| HighWaterMark { leader: RaftLeaderId::new(term, 1), last };
        assert!(shown(1, Some(id(1, 9))) < shown(2, None), "an older vote");
        assert!(
            shown(2, Some(id(2, 8))) < shown(2, Some(id(2, 9))),
            "a shorter log of the same leader"
        );
        assert!(
            shown(2, Some(id(1, 20))) < shown(2, Some(id(2, 9))),
            "entries that are gone from it"
        );
        assert!(shown(3, Some(id(1, 2))) > shown(2, Some(id(2, 9))), "the next leader took them");
    }
}
