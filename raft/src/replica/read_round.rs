//! A ReadIndex round (Raft dissertation, section 6.4): a quorum confirms the leader, and the leader
//! names the log index that a current state has applied.
//!
//! Invariant: a round ends within [`ROUND_TIMEOUT`]. It runs on the leader itself or asks the
//! leader; it never retries.

use std::time::Duration;

use quorate_store::NotApplied;
use tokio::time::timeout;

use super::forward::Forwarder;
use super::forward::message::ForwardRequest;
use super::forward::session::ForwardError;
use super::read_index::ReadPoint;
use crate::core::{Leader, RaftNode};

/// How long one round may take. Rounds are retried, so this only bounds the wait for a leader that
/// is gone.
const ROUND_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs one round.
pub(super) async fn read_round(raft: &RaftNode, forwarder: &Forwarder) -> ReadPoint {
    let round = async {
        match raft.leader() {
            Leader::Here => raft.confirmed_read_index().await,
            Leader::Elsewhere(_, peer) => match forwarder
                .ask(&peer.address, ForwardRequest::ReadIndex)
                .await
            {
                Ok(response) => response.into_read_point(),
                Err(ForwardError::Full) => Err(NotApplied::Overloaded),
                Err(ForwardError::Sent(_) | ForwardError::Unsent(_)) => Err(NotApplied::NoLeader),
            },
            Leader::Unknown => Err(NotApplied::NoLeader),
        }
    };
    timeout(ROUND_TIMEOUT, round).await.unwrap_or(Err(NotApplied::NoLeader))
}
