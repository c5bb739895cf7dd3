//! Raft's types: what a log entry carries, what applying it answers, how a member is described.
//!
//! Invariants: everything that applying a [`Command`] depends on is inside it (the proposer's clock
//! included), so that every replica computes the same state; [`Response`] is never stored or sent
//! between replicas of the log. This file holds no behaviour.

use std::fmt;
use std::sync::Arc;

use quorate_store::{NodeId, Outcome, Txn};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Bytes of an encoded command besides its transactions, at most: two numbers of variable length.
const COMMAND_OVERHEAD: usize = 20;

/// What a log entry asks the state machine to do: decide these transactions one after the other, as
/// if each were an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The proposing leader's clock, milliseconds since the Unix epoch. The state machine clamps it
    /// upward.
    pub time_ms: u64,
    /// The transactions to decide, in this order. Those that waited together when the leader
    /// proposed them.
    pub txns: Arc<[Txn]>,
}

impl Command {
    /// At least its bytes when it is encoded.
    #[must_use]
    pub fn footprint(&self) -> usize {
        COMMAND_OVERHEAD + self.txns.iter().map(Txn::footprint).sum::<usize>()
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations: usize = self.txns.iter().map(|txn| txn.operations.len()).sum();
        write!(f, "{} transactions of {operations} operations", self.txns.len())
    }
}

/// What applying one log entry answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// How the transactions were decided, in their order; none for entries that carry none.
    pub outcomes: Vec<Outcome>,
    /// When they were applied, for traces.
    #[serde(skip)]
    pub applied: Option<ApplyTimes>,
}

/// When entries were applied: those that the state machine makes visible together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyTimes {
    /// They were committed and the first one was about to be decided.
    pub begun: Instant,
    /// They were visible.
    pub ended: Instant,
}

/// A member of the cluster as the membership entries of the log describe it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// `host:port` of its peer RPC, for the other members.
    pub address: String,
    /// `host:port` of its API, for clients and operators. Not used by the replica.
    pub api: String,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

/// The runtime of every Raft task: tokio, with random numbers that come from one seed per replica,
/// so that a simulation replays election timeouts. Code that spawns a Raft task must run inside
/// [`Runtime::scope`].
pub type Runtime =
    openraft_rt::deterministic_rng::DeterministicRng<openraft_rt_tokio::TokioRuntime>;

openraft::declare_raft_types!(
    /// The types above, as openraft wants them.
    pub TypeConfig:
        D = Command,
        R = Response,
        NodeId = NodeId,
        Node = Peer,
        AsyncRuntime = Runtime,
);

/// Position of an entry: the leader that proposed it, and its index.
pub type LogId = openraft::alias::LogIdOf<TypeConfig>;
/// A leader or candidate, with its term.
pub type LeaderId = openraft::alias::LeaderIdOf<TypeConfig>;
/// A vote, and whether a quorum has granted it.
pub type Vote = openraft::alias::VoteOf<TypeConfig>;
/// A log entry.
pub type LogEntry = openraft::alias::EntryOf<TypeConfig>;
/// What a log entry carries.
pub type Payload = openraft::alias::PayloadOf<TypeConfig>;
/// The members, with the log position that made them so.
pub type StoredMembership = openraft::alias::StoredMembershipOf<TypeConfig>;
/// The position and the membership that a snapshot stands for.
pub type SnapshotMeta = openraft::alias::SnapshotMetaOf<TypeConfig>;

/// Roughly the bytes of what an entry carries when it is encoded; not less where that is
/// transactions.
pub(crate) fn footprint(payload: &Payload) -> usize {
    match payload {
        Payload::Normal(command) => command.footprint(),
        Payload::Blank | Payload::Membership(_) => COMMAND_OVERHEAD,
    }
}
