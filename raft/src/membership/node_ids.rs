//! Node ids: given out in order by a counter in the store, so that the id of a removed member never
//! comes back.
//!
//! Invariant: the counter is at least the largest id ever given out by it, and, from the first
//! removal on, the largest that was found among the members.

use bytes::Bytes;
use quorate_store::{Condition, NodeId, Operation, Outcome, Store, Txn};

use super::AdminError;
use super::members::members;
use crate::core::RaftNode;
use crate::keys;

/// Attempts against other nodes that get an id at the same moment.
const MAX_ATTEMPTS: usize = 16;

/// The next free id; taken even if it is not used afterwards.
pub(crate) async fn next_node_id(raft: &RaftNode, store: &dyn Store) -> Result<NodeId, AdminError> {
    count(raft, store, |largest| (largest + 1, None)).await
}

/// Notes that a member is to be removed: as soon as it is none it will be refused, and its id never
/// comes back.
pub(super) async fn retire(
    raft: &RaftNode,
    store: &dyn Store,
    removed: NodeId,
) -> Result<(), AdminError> {
    let note = Operation::Put { key: keys::removed(removed).into(), value: Bytes::new() };
    count(raft, store, |largest| (largest, Some(note.clone()))).await.map(drop)
}

/// Sets the counter to what `next` makes of the largest id so far, and commits the operation that
/// goes with it.
async fn count(
    raft: &RaftNode,
    store: &dyn Store,
    next: impl Fn(NodeId) -> (NodeId, Option<Operation>),
) -> Result<NodeId, AdminError> {
    for _ in 0..MAX_ATTEMPTS {
        store.read_index().await?;
        let entry = store.snapshot().get(keys::LAST_NODE).cloned();
        let counted = entry.as_ref().map_or(Some(0), |entry| parse(&entry.value));
        let counted =
            counted.ok_or_else(|| AdminError::refused("the counter of node numbers is damaged"))?;
        let largest = members(raft).iter().map(|member| member.node).max().unwrap_or(0);
        let (count, further) = next(counted.max(largest));
        let key = Bytes::from_static(keys::LAST_NODE);
        let revision = entry.map(|entry| entry.modified).unwrap_or_default();
        let put = Operation::Put { key: key.clone(), value: Bytes::from(count.to_string()) };
        let txn = Txn {
            conditions: vec![Condition::Modified { key, revision }],
            operations: std::iter::once(put).chain(further).collect(),
            ..Txn::default()
        };
        if let Outcome::Committed { .. } = store.txn(txn).await? {
            return Ok(count);
        }
    }
    Err(AdminError::unavailable("too many nodes come and go at once"))
}

fn parse(value: &[u8]) -> Option<NodeId> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
