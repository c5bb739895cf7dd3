//! Node numbers: given out in order by a counter in the store, so that the number of a removed member never comes back.
//!
//! Invariant: the counter is at least the largest number ever given out by it, and, from the first removal on, the largest that was
//! found among the members.

use bytes::Bytes;
use quorate_store::{Condition, NodeId, Operation, Outcome, Txn};

use super::AdminError;
use crate::keys;
use crate::replica::core::Core;

/// Attempts against others that take a number at the same moment.
const MAX_ATTEMPTS: usize = 16;

impl Core {
    /// The next free number; taken even if it is not used afterwards.
    pub(crate) async fn next_node(&self) -> Result<NodeId, AdminError> {
        self.count(|largest| (largest + 1, None)).await
    }

    /// Notes that a member is to be removed: from the moment that it is none it will be refused, and its number never comes back.
    pub(crate) async fn retire(&self, node: NodeId) -> Result<(), AdminError> {
        let note = Operation::Put { key: keys::removed(node).into(), value: Bytes::new() };
        self.count(|largest| (largest, Some(note.clone()))).await.map(drop)
    }

    /// Sets the counter to what `next` makes of the largest number so far, and carries out what goes with it.
    async fn count(&self, next: impl Fn(NodeId) -> (NodeId, Option<Operation>)) -> Result<NodeId, AdminError> {
        for _ in 0..MAX_ATTEMPTS {
            self.read_index().await?;
            let entry = self.serving.snapshot().get(keys::LAST_NODE).cloned();
            let counted = entry.as_ref().map_or(Some(0), |entry| parse(&entry.value));
            let counted = counted.ok_or_else(|| AdminError::refused("the counter of node numbers is damaged"))?;
            let largest = self.members().iter().map(|member| member.node).max().unwrap_or(0);
            let (count, further) = next(counted.max(largest));
            let key = Bytes::from_static(keys::LAST_NODE);
            let revision = entry.map(|entry| entry.modified).unwrap_or_default();
            let put = Operation::Put { key: key.clone(), value: Bytes::from(count.to_string()) };
            let txn = Txn {
                conditions: vec![Condition::Modified { key, revision }],
                operations: std::iter::once(put).chain(further).collect(),
            };
            if let Outcome::Committed { .. } = self.transact(&txn).await? {
                return Ok(count);
            }
        }
        Err(AdminError::unavailable("too many nodes come and go at once"))
    }
}

fn parse(value: &[u8]) -> Option<NodeId> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
