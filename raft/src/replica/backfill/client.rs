//! The archives of the other members, as the back-fill asks them: over links of their own.
//!
//! Invariant: every call ends within [`ANSWER_TIMEOUT`], connecting included.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_archive::{Inventory, PastSource, SourceError};
use quorate_store::{Batch, NodeId, Revision};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tonic::{Code, Response, Status};

use super::message::{ChangesAnswer, ChangesRequest, InventoryRequest};
use crate::core::RaftNode;
use crate::membership::{self, Role};
use crate::network::link::Client;
use crate::network::links::{Links, Purpose};
use crate::network::wire::{decode, encode};

/// How long a member may take for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Asks the members that Raft knows.
pub(in super::super) struct MemberArchives {
    raft: Arc<RaftNode>,
    links: Arc<Links>,
}

impl MemberArchives {
    /// Over these links.
    pub(in super::super) fn new(raft: Arc<RaftNode>, links: Arc<Links>) -> Self {
        Self { raft, links }
    }

    async fn call<Q, A, F>(&self, member: NodeId, request: &Q, call: F) -> Result<A, SourceError>
    where
        Q: Serialize + Sync,
        A: DeserializeOwned,
        F: AsyncFnOnce(Client, Bytes) -> Result<Response<Bytes>, Status>,
    {
        let members = membership::members(&self.raft);
        let found = members.iter().find(|other| other.node == member);
        let Some(peer) = found else {
            return Err(SourceError::Unavailable("it is no member any more".to_owned()));
        };
        let link = self.links.link(&peer.address, Purpose::Archive);
        let request = encode(request);
        let calling = async {
            let connected = link.connected().await.map_err(unavailable)?;
            match call(connected.client.clone(), request).await {
                Ok(answer) => decode(answer.get_ref()).map_err(unavailable),
                Err(status) if status.code() == Code::Unimplemented => {
                    Err(SourceError::Unimplemented)
                }
                Err(status) => {
                    link.refused(&connected, &status).await;
                    Err(SourceError::Unavailable(status.message().to_owned()))
                }
            }
        };
        let silent = |_| SourceError::Unavailable("it does not answer in time".to_owned());
        timeout(ANSWER_TIMEOUT, calling).await.map_err(silent)?
    }
}

impl fmt::Debug for MemberArchives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberArchives").field("members", &self.members()).finish_non_exhaustive()
    }
}

#[async_trait]
impl PastSource for MemberArchives {
    /// The leader last: it has the most to do.
    fn members(&self) -> Vec<NodeId> {
        let mut members = membership::members(&self.raft);
        members.retain(|member| member.node != self.raft.id());
        members.sort_by_key(|member| member.role == Role::Leader);
        members.iter().map(|member| member.node).collect()
    }

    async fn inventory(&self, member: NodeId, since_ms: u64) -> Result<Inventory, SourceError> {
        self.call(member, &InventoryRequest { since_ms }, async |mut client, request| {
            client.archive_inventory(request).await
        })
        .await
    }

    async fn changes(
        &self,
        member: NodeId,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, SourceError> {
        let request = ChangesRequest { after, max_bytes: max_bytes as u64 };
        let answer: ChangesAnswer = self
            .call(member, &request, async |mut client, request| {
                client.archive_changes(request).await
            })
            .await?;
        answer.into_batches().map_err(unavailable)
    }
}

fn unavailable(error: impl fmt::Display) -> SourceError {
    SourceError::Unavailable(error.to_string())
}
