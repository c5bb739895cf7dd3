//! openraft's messages for log entries and its network error, under short names.
//!
//! Invariant: every failure is *unreachable* to openraft, so that it pauses and tries again.

use openraft::AnyError;
use openraft::errors::{RPCError, Unreachable};
use openraft::raft::{AppendEntriesRequest, StreamAppendResult};

use crate::types::TypeConfig;

/// AppendEntries: entries of a leader, or news of a commit.
pub(super) type AppendRequest = AppendEntriesRequest<TypeConfig>;
/// A follower's answer: the last entry that it has, a conflict, or a higher vote.
pub(super) type AppendResult = StreamAppendResult<TypeConfig>;
/// A failed call, in openraft's form.
pub(super) type RpcError = RPCError<TypeConfig>;

/// A failure to reach the member.
pub(super) fn unreachable(reason: impl ToString) -> RpcError {
    RPCError::Unreachable(Unreachable::new(&AnyError::error(reason)))
}
