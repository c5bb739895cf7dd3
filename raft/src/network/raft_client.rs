//! openraft's network: one client per target and purpose, over the links.
//!
//! Invariants: every unary call ends within its time to live, connecting included; a stream of
//! entries is set up within [`SETUP_TIMEOUT`] and then lives until it breaks; every failure is
//! *unreachable* to openraft, so that it pauses ([`REPLICATION_PAUSE`]) and tries again, and the
//! link behind makes a new connection.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, future};
use openraft::errors::{ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{Backoff, RPCOption};
use openraft::raft::{
    AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use openraft::{AnyError, OptionalSend, RaftNetworkFactory, RaftNetworkV2};
use quorate_store::NodeId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::{Request, Response, Status};

use super::append::{AppendRequest, AppendResult, RpcError, unreachable};
use super::append_answers::PendingAppends;
use super::commit_coalescing;
use super::heartbeats::Heartbeats;
use super::link::{Client, Link};
use super::links::{Links, Purpose};
use super::snapshot;
use super::wire::{decode, encode, encode_long};
use crate::rollback::{FollowerMark, HighWaterMarks};
use crate::state_machine::{Snapshot, SnapshotData};
use crate::types::{LeaderId, Peer, TypeConfig, Vote, footprint};

/// From asking for a connection to an open stream of entries.
const SETUP_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause of a replication whose target cannot be reached; short, so that a member that comes
/// back gets entries at once.
const REPLICATION_PAUSE: Duration = Duration::from_millis(100);

/// Bytes of an encoded request for entries besides these, and of an entry besides what it carries:
/// numbers of variable length.
const REQUEST_OVERHEAD: usize = 100;
const ENTRY_OVERHEAD: usize = 40;

/// Makes the clients that openraft asks for.
#[derive(Debug, Clone)]
pub(crate) struct RaftNetwork {
    links: Arc<Links>,
    marks: Arc<HighWaterMarks>,
}

impl RaftNetwork {
    /// Over these links; keeps the marks of the members up to date.
    pub(crate) fn new(links: Arc<Links>, marks: Arc<HighWaterMarks>) -> Self {
        Self { links, marks }
    }

    fn client(&self, node: NodeId, peer: &Peer, stream: Purpose) -> RaftClient {
        RaftClient {
            follower: FollowerMark { node, marks: self.marks.clone() },
            control: self.links.link(&peer.address, Purpose::Control),
            stream: self.links.link(&peer.address, stream),
            heartbeats: None,
        }
    }
}

impl RaftNetworkFactory<TypeConfig> for RaftNetwork {
    type Network = RaftClient;

    async fn new_client(&mut self, node: NodeId, peer: &Peer) -> RaftClient {
        self.client(node, peer, Purpose::Entries)
    }

    async fn new_heartbeat_client(&mut self, node: NodeId, peer: &Peer) -> RaftClient {
        let client = self.client(node, peer, Purpose::Control);
        let heartbeats = Heartbeats::new(client.control.clone(), client.follower.clone());
        RaftClient { heartbeats: Some(heartbeats), ..client }
    }

    async fn new_snapshot_client(&mut self, node: NodeId, peer: &Peer) -> RaftClient {
        self.client(node, peer, Purpose::Snapshot)
    }
}

/// Calls to one member.
#[derive(Debug)]
pub(crate) struct RaftClient {
    follower: FollowerMark,
    control: Arc<Link>,
    stream: Arc<Link>,
    /// For a client that sends nothing else.
    heartbeats: Option<Heartbeats>,
}

impl RaftClient {
    async fn unary<Q, R, F>(&self, request: &Q, option: &RPCOption, call: F) -> Result<R, RpcError>
    where
        Q: Serialize,
        R: DeserializeOwned,
        F: AsyncFnOnce(Client, Request<Bytes>) -> Result<Response<Bytes>, Status>,
    {
        let calling = async {
            let connected = self.control.connected().await.map_err(unreachable)?;
            match call(connected.client.clone(), Request::new(encode(request))).await {
                Ok(response) => decode(response.get_ref()).map_err(unreachable),
                Err(status) => {
                    self.control.refused(&connected, &status).await;
                    Err(unreachable(status.message()))
                }
            }
        };
        tokio::time::timeout(option.soft_ttl(), calling)
            .await
            .unwrap_or_else(|_| Err(unreachable("no answer in time")))
    }
}

impl RaftNetworkV2<TypeConfig> for RaftClient {
    type SnapshotData = SnapshotData;

    async fn append_entries(
        &mut self,
        request: AppendRequest,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<TypeConfig>, RpcError> {
        let _ = (request, option);
        Err(unreachable("entries are only sent on streams"))
    }

    fn stream_append<'s, S>(
        &'s mut self,
        requests: S,
        _: RPCOption,
    ) -> BoxFuture<'s, Result<BoxStream<'s, Result<AppendResult, RpcError>>, RpcError>>
    where
        S: Stream<Item = AppendRequest> + OptionalSend + Unpin + 'static,
    {
        let Self { heartbeats, stream, follower, .. } = self;
        if let Some(heartbeats) = heartbeats {
            return Box::pin(future::ready(Ok(heartbeats.send(requests))));
        }
        Box::pin(async move {
            let setup = open_stream(stream, requests, follower.clone());
            tokio::time::timeout(SETUP_TIMEOUT, setup)
                .await
                .unwrap_or_else(|_| Err(unreachable("no answer in time")))
        })
    }

    async fn vote(
        &mut self,
        request: VoteRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RpcError> {
        let answer: VoteResponse<TypeConfig> = self
            .unary(&request, &option, async |mut client, request| client.vote(request).await)
            .await?;
        if answer.vote_granted {
            self.follower.marks.voted(self.follower.node, request.vote.leader_id);
        }
        Ok(answer)
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RpcError> {
        self.unary(&request, &option, async |mut client, request| client.pre_vote(request).await)
            .await
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<TypeConfig>, StreamingError<TypeConfig>> {
        let last = snapshot.meta.last_log_id;
        let sent = tokio::select! {
            biased;
            closed = cancel => return Err(StreamingError::Closed(closed)),
            sent = snapshot::send(&self.stream, vote, snapshot) => sent,
        };
        let answer = sent.map_err(|error| {
            StreamingError::Unreachable(Unreachable::new(&AnyError::error(error)))
        })?;
        if answer.vote == vote {
            self.follower.installed(vote.leader_id, last);
        }
        Ok(answer)
    }

    async fn transfer_leader(
        &mut self,
        request: TransferLeaderRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<TypeConfig>, RpcError> {
        self.unary(&request, &option, async |mut client, request| {
            client.transfer_leader(request).await
        })
        .await
    }

    fn backoff(&self) -> Option<Backoff> {
        Some(Backoff::new(std::iter::repeat(REPLICATION_PAUSE)))
    }
}

async fn open_stream<'s, S>(
    link: &'s Link,
    requests: S,
    follower: FollowerMark,
) -> Result<BoxStream<'s, Result<AppendResult, RpcError>>, RpcError>
where
    S: Stream<Item = AppendRequest> + OptionalSend + Unpin + 'static,
{
    let mut connected = link.connected().await.map_err(unreachable)?;
    let asked = PendingAppends::default();
    let sending = asked.clone();
    // One stream is of one leader.
    let leader: Arc<OnceLock<LeaderId>> = Arc::default();
    let leading = leader.clone();
    let requests = commit_coalescing::with_entries(asked.requests(requests)).map(move |request| {
        leading.get_or_init(|| request.vote.leader_id);
        sending.sent();
        let entries =
            request.entries.iter().map(|entry| ENTRY_OVERHEAD + footprint(&entry.payload));
        encode_long(&request, REQUEST_OVERHEAD + entries.sum::<usize>())
    });
    match connected.client.append(requests).await {
        Ok(response) => {
            let answers = response.into_inner().map(move |answer| {
                let answer: AppendResult = decode(&answer.map_err(lost)?).map_err(lost)?;
                leader
                    .get()
                    .map_or(Ok(()), |leader| follower.answered(*leader, &answer))
                    .map_err(unreachable)?;
                Ok(answer)
            });
            Ok(asked.answers(answers).boxed())
        }
        Err(status) => {
            link.refused(&connected, &status).await;
            Err(unreachable(status.message()))
        }
    }
}

fn lost(status: Status) -> RpcError {
    unreachable(status.message())
}
