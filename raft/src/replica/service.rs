//! The peer RPC's server: lets members of this cluster in and hands what they say to Raft, to the proposals, to administration.
//!
//! Invariants: every method but *join* begins with [`PeerService::admit`]; what could count for a quorum waits at the gate (see
//! `witness`). Nothing is decided here.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt, future};
use openraft::raft::{AppendEntriesRequest, TransferLeaderRequest, VoteRequest};
use quorate_store::{NodeId, NotApplied};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::core::{Core, Leader};
use super::forward::message::{ForwardRequest, ForwardResponse};
use super::forward::serve;
use crate::admin;
use crate::network::call_auth::{PeerPolicy, admit, speaks_for};
use crate::network::rpc::peer_server::Peer;
use crate::network::snapshot;
use crate::network::wire::{decode, encode};
use crate::state_machine::SnapshotReceiver;
use crate::types::TypeConfig;

/// One node's end of every peer's calls.
pub(crate) struct PeerService {
    pub(crate) core: Arc<Core>,
    pub(crate) receiver: SnapshotReceiver,
    pub(crate) admin: Arc<admin::Service>,
}

/// Answers of a stream of entries that the connection has not taken yet.
const MAX_ANSWERS: usize = 64;

impl PeerService {
    /// Who calls.
    fn admit<T>(&self, request: &Request<T>) -> Result<NodeId, Status> {
        admit(&*self.core, request)
    }
}

type UnaryReply = Result<Response<Bytes>, Status>;
type FrameStream = BoxStream<'static, Result<Bytes, Status>>;

#[tonic::async_trait]
impl Peer for PeerService {
    type AppendStream = FrameStream;
    type ForwardStream = FrameStream;

    async fn vote(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        let asked: VoteRequest<TypeConfig> = decode(request.get_ref())?;
        speaks_for(caller, asked.vote.leader_id.node_id)?;
        self.core.witness.voted(caller, asked.vote.leader_id);
        self.core.gate.passed().await;
        let vote = self.core.raft.vote(asked).await;
        Ok(Response::new(encode(&vote.map_err(stopped)?)))
    }

    async fn pre_vote(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        let asked: VoteRequest<TypeConfig> = decode(request.get_ref())?;
        speaks_for(caller, asked.vote.leader_id.node_id)?;
        self.core.gate.passed().await;
        let vote = self.core.raft.pre_vote(asked).await;
        Ok(Response::new(encode(&vote.map_err(stopped)?)))
    }

    async fn witness(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        Ok(Response::new(encode(&self.core.shown_by(caller).await)))
    }

    async fn transfer_leader(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        let asked: TransferLeaderRequest<TypeConfig> = decode(request.get_ref())?;
        speaks_for(caller, asked.from_leader().leader_id.node_id)?;
        self.core.gate.passed().await;
        let taken = self.core.raft.handle_transfer_leader(asked).await;
        Ok(Response::new(encode(&taken.map_err(stopped)?)))
    }

    async fn append(&self, request: Request<Streaming<Bytes>>) -> Result<Response<FrameStream>, Status> {
        let caller = self.admit(&request)?;
        self.core.gate.passed().await;
        let requests = request
            .into_inner()
            .map(move |frame| entries_of(caller, &frame?))
            .take_while(|request| future::ready(request.is_ok()))
            .filter_map(|request| future::ready(request.ok()));
        let (sender, receiver) = mpsc::channel(MAX_ANSWERS);
        tokio::spawn(append(self.core.clone(), requests, sender));
        Ok(Response::new(ReceiverStream::new(receiver).boxed()))
    }

    async fn snapshot(&self, request: Request<Streaming<Bytes>>) -> UnaryReply {
        let caller = self.admit(&request)?;
        self.core.gate.passed().await;
        let _installing = self.core.installs.begin();
        snapshot::receive(&self.core.raft, &self.receiver, caller, request.into_inner()).await.map(Response::new)
    }

    async fn forward(&self, request: Request<Streaming<Bytes>>) -> Result<Response<FrameStream>, Status> {
        let caller = self.admit(&request)?;
        let core = self.core.clone();
        let frames = serve::serve(request.into_inner(), move |ask| answer(core.clone(), caller, ask));
        Ok(Response::new(ReceiverStream::new(frames).boxed()))
    }

    async fn admin(&self, request: Request<Bytes>) -> UnaryReply {
        self.admit(&request)?;
        let answer = self.admin.answer(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&answer)))
    }

    async fn join(&self, request: Request<Bytes>) -> UnaryReply {
        let answer = self.admin.join(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&answer)))
    }
}

/// A leader's entries, if it is the caller.
fn entries_of(caller: NodeId, frame: &[u8]) -> Result<AppendEntriesRequest<TypeConfig>, Status> {
    let entries: AppendEntriesRequest<TypeConfig> = decode(frame)?;
    speaks_for(caller, entries.vote.leader_id.node_id)?;
    Ok(entries)
}

/// Hands a leader's entries to Raft, and Raft's answers back, until either ends.
async fn append(
    core: Arc<Core>,
    requests: impl Stream<Item = AppendEntriesRequest<TypeConfig>> + Send + 'static,
    sender: mpsc::Sender<Result<Bytes, Status>>,
) {
    let appending = async {
        let mut answers = pin!(core.raft.stream_append(requests));
        while let Some(answer) = answers.next().await {
            let answer = answer.map(|appended| encode(&appended)).map_err(stopped);
            if sender.send(answer).await.is_err() {
                return;
            }
        }
    };
    core.seeds.scope(appending).await;
}

/// What the leader does for a follower. Never forwarded again: a follower that is wrong about the leader looks again.
fn answer(core: Arc<Core>, caller: NodeId, ask: ForwardRequest) -> BoxFuture<'static, ForwardResponse> {
    async move {
        match ask {
            // Removed while its stream was open.
            _ if core.has_left(caller) => {
                ForwardResponse::Refused(NotApplied::Unavailable("this node was removed".to_owned()))
            }
            _ if core.leader() != Leader::Here => ForwardResponse::Refused(NotApplied::NoLeader),
            ForwardRequest::Txn(txn) => core.propose(txn).await.into(),
            ForwardRequest::ReadIndex => match core.rounds.next().await {
                Ok(index) => ForwardResponse::ReadIndex(index),
                Err(reason) => ForwardResponse::Refused(reason),
            },
        }
    }
    .boxed()
}

fn stopped(error: impl ToString) -> Status {
    Status::unavailable(error.to_string())
}
