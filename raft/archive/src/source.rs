//! The source of a back-fill: the archives of the other members.
//!
//! Invariant: an answer is what a member said; nothing of it is believed here ([`crate::received`]).
//! How members are reached is not here.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use quorate_store::{Batch, NodeId, Revision};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::part::Part;

/// What a member says of its archive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// See [`crate::ArchiveOptions::owner`].
    pub owner: String,
    /// What it has, oldest first; what lies between them it has not.
    pub parts: Vec<Part>,
}

/// The archives of the other members.
#[async_trait]
pub trait PastSource: Send + Sync + fmt::Debug + 'static {
    /// The other members, in the order in which they are to be asked.
    fn members(&self) -> Vec<NodeId>;

    /// What this member's archive has that is not older than a time, milliseconds since the Unix
    /// epoch.
    ///
    /// # Errors
    /// See [`SourceError`].
    async fn inventory(&self, member: NodeId, since_ms: u64) -> Result<Inventory, SourceError>;

    /// The member's transactions after a revision, about `max_bytes` of [`Batch::footprint`] and at
    /// least one; none where it does not have the next one.
    ///
    /// # Errors
    /// See [`SourceError`].
    async fn changes(
        &self,
        member: NodeId,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, SourceError>;
}

/// Why a member gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    /// Its release does not have the call.
    #[error("its release does not give its past to other members")]
    Unimplemented,
    /// It cannot be reached, or cannot answer now.
    #[error("{0}")]
    Unavailable(String),
}
