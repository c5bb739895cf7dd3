//! Node numbers: given out in order by a counter in the store, so that the number of a removed member never comes back.
//!
//! Invariant: the counter is at least the largest number ever given out by it or found among the members.

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
        for _ in 0..MAX_ATTEMPTS {
            self.read_index().await?;
            let entry = self.serving.snapshot().get(keys::LAST_NODE).cloned();
            let counted = entry.as_ref().map_or(Some(0), |entry| parse(&entry.value));
            let counted = counted.ok_or_else(|| AdminError::refused("the counter of node numbers is damaged"))?;
            let largest = self.members().iter().map(|member| member.node).max().unwrap_or(0);
            let next = counted.max(largest) + 1;
            let key = Bytes::from_static(keys::LAST_NODE);
            let revision = entry.map(|entry| entry.modified).unwrap_or_default();
            let txn = Txn {
                conditions: vec![Condition::Modified { key: key.clone(), revision }],
                operations: vec![Operation::Put { key, value: Bytes::from(next.to_string()) }],
            };
            if let Outcome::Committed { .. } = self.transact(&txn).await? {
                return Ok(next);
            }
        }
        Err(AdminError::unavailable("too many nodes join at once"))
    }
}

fn parse(value: &[u8]) -> Option<NodeId> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
