//! Administrative messages: from an operator's command line to a node, and between two nodes.
//!
//! Invariant: variants and fields are only ever added at the end (messages are positional on the
//! wire).

use bytes::Bytes;
use quorate_archive::ArchiveStatus;
use quorate_store::{NodeId, Revision, Status};
use serde::{Deserialize, Serialize};

use super::token::JoinToken;
use crate::cluster::ClusterId;
use crate::membership::Member;
use crate::types::Peer;

/// An administrative request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminRequest {
    /// The state of the asked node. Answered by [`AdminAnswer::Status`].
    Status,
    /// List the members. Answered by [`AdminAnswer::Members`].
    Members,
    /// Add a learner under a new id. Answered by [`AdminAnswer::Node`].
    Add(Peer),
    /// Make a learner a voter. Answered by [`AdminAnswer::Done`].
    Promote(NodeId),
    /// Take a member out. Answered by [`AdminAnswer::Done`].
    Remove(NodeId),
    /// Transfer the leadership, to the voter with the longest log if none is named. Answered by
    /// [`AdminAnswer::Node`].
    Transfer(Option<NodeId>),
    /// Make a join token. Answered by [`AdminAnswer::Token`].
    CreateToken {
        /// What it is for, for the operator.
        description: String,
        /// How long it is valid, milliseconds.
        ttl_ms: u64,
    },
    /// Which join tokens are valid. Answered by [`AdminAnswer::Tokens`].
    Tokens,
    /// Make a join token invalid. Answered by [`AdminAnswer::Done`].
    RevokeToken(String),
    /// A join that another node received and checks nothing of.
    Join(JoinRequest),
    /// Sign a user's certificate; the request is in the signer's own form. Answered by
    /// [`AdminAnswer::Certified`].
    Certify(Bytes),
    /// Look at or change the keys that nodes keep for the API; the request is in the signer's own
    /// form. Answered by [`AdminAnswer::Keys`].
    Keys(Bytes),
    /// Carry out a consistent read on the asked node. Answered by [`AdminAnswer::Done`].
    Ready,
    /// How the archive of the asked node is. Answered by [`AdminAnswer::Archive`].
    Archive,
}

/// The answer to an [`AdminRequest`] that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminAnswer {
    /// It is done.
    Done,
    /// A node's state.
    Status(NodeStatus),
    /// The members, by id.
    Members(Vec<Member>),
    /// A node's id.
    Node(NodeId),
    /// A new token. Its secret is nowhere else.
    Token(JoinToken),
    /// The valid tokens, by id.
    Tokens(Vec<TokenInfo>),
    /// A node has joined.
    Joined(JoinAnswer),
    /// What the signer made of a request.
    Certified(Bytes),
    /// What the signer says of the keys.
    Keys(Bytes),
    /// A node's archive; `None` where it keeps none.
    Archive(Option<ArchiveReport>),
}

/// A node and the cluster as it sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The cluster.
    pub cluster: ClusterId,
    /// The node's store.
    pub store: Status,
    /// The members as the leader sees them, or as this node does when the leader does not answer.
    pub members: Vec<Member>,
    /// Log entries up to this index are purged; a member that needs them gets a snapshot. 0 for
    /// none.
    pub log_purged: u64,
    /// The index of the newest log entry. 0 for none.
    pub log_last: u64,
    /// Whether a change of the voters is under way, as far as the asked node knows: until it is
    /// complete, majorities of the old and of the new voters are needed.
    pub changing_voters: bool,
}

/// A node's archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveReport {
    /// The oldest revision that can be read.
    pub oldest: Revision,
    /// When that was, milliseconds since the Unix epoch.
    pub oldest_ms: u64,
    /// The last revision that is archived.
    pub archived: Revision,
    /// Transactions that are not archived yet.
    pub lag: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// What is not there in between: after the first revision, up to the second.
    pub gaps: Vec<(Revision, Revision)>,
    /// Parts that were dropped for damage since the start, and writes that have failed.
    pub failures: u64,
}

impl From<ArchiveStatus> for ArchiveReport {
    fn from(status: ArchiveStatus) -> Self {
        Self {
            oldest: status.oldest,
            oldest_ms: status.oldest_ms,
            archived: status.archived,
            lag: status.lag,
            bytes: status.bytes,
            gaps: status.gaps.iter().map(|gap| (gap.after, gap.last)).collect(),
            failures: status.failures,
        }
    }
}

/// A join token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// The part before the dot.
    pub id: String,
    /// What it is for.
    pub description: String,
    /// When it was made, milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// From when on it is invalid, milliseconds since the Unix epoch.
    pub expires_ms: u64,
}

/// A node wants to become a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// Proves that an operator wants it.
    pub token: JoinToken,
    /// Where it will be.
    pub peer: Peer,
    /// What the node's [`super::CertificateSigner`] needs: certificate requests, in a form of its
    /// own.
    pub csr: Bytes,
}

/// A node has become a learner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer {
    /// The cluster it is in now.
    pub cluster: ClusterId,
    /// Its id.
    pub node: NodeId,
    /// All members, itself included.
    pub members: Vec<Member>,
    /// What the signer made of the request: certificates, in a form of its own.
    pub identity: Bytes,
}
