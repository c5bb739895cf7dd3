//! The peer RPC's server: lets members of this cluster in and hands what they say to Raft, to the proposals, to administration.
//!
//! Invariant: every method but *join* begins with [`admit`]. Nothing is decided here.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt, future};
use openraft::raft::AppendEntriesRequest;
use quorate_store::NotApplied;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::core::{Core, Leader};
use super::forward::message::{Answer, Ask};
use super::forward::serve;
use crate::admin;
use crate::network::handshake::admit;
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

type Reply = Result<Response<Bytes>, Status>;
type Frames = BoxStream<'static, Result<Bytes, Status>>;

#[tonic::async_trait]
impl Peer for PeerService {
    type AppendStream = Frames;
    type ForwardStream = Frames;

    async fn vote(&self, request: Request<Bytes>) -> Reply {
        admit(self.core.cluster, &request)?;
        let vote = self.core.raft.vote(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&vote.map_err(stopped)?)))
    }

    async fn pre_vote(&self, request: Request<Bytes>) -> Reply {
        admit(self.core.cluster, &request)?;
        let vote = self.core.raft.pre_vote(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&vote.map_err(stopped)?)))
    }

    async fn transfer_leader(&self, request: Request<Bytes>) -> Reply {
        admit(self.core.cluster, &request)?;
        let taken = self.core.raft.handle_transfer_leader(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&taken.map_err(stopped)?)))
    }

    async fn append(&self, request: Request<Streaming<Bytes>>) -> Result<Response<Frames>, Status> {
        admit(self.core.cluster, &request)?;
        let requests = request
            .into_inner()
            .map(|frame| frame.and_then(|frame| decode::<AppendEntriesRequest<TypeConfig>>(&frame)))
            .take_while(|request| future::ready(request.is_ok()))
            .filter_map(|request| future::ready(request.ok()));
        let (sender, receiver) = mpsc::channel(MAX_ANSWERS);
        tokio::spawn(append(self.core.clone(), requests, sender));
        Ok(Response::new(ReceiverStream::new(receiver).boxed()))
    }

    async fn snapshot(&self, request: Request<Streaming<Bytes>>) -> Reply {
        admit(self.core.cluster, &request)?;
        snapshot::receive(&self.core.raft, &self.receiver, request.into_inner()).await.map(Response::new)
    }

    async fn forward(&self, request: Request<Streaming<Bytes>>) -> Result<Response<Frames>, Status> {
        admit(self.core.cluster, &request)?;
        let core = self.core.clone();
        let frames = serve::serve(request.into_inner(), move |ask| answer(core.clone(), ask));
        Ok(Response::new(ReceiverStream::new(frames).boxed()))
    }

    async fn admin(&self, request: Request<Bytes>) -> Reply {
        admit(self.core.cluster, &request)?;
        let answer = self.admin.answer(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&answer)))
    }

    async fn join(&self, request: Request<Bytes>) -> Reply {
        let answer = self.admin.join(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&answer)))
    }
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
fn answer(core: Arc<Core>, ask: Ask) -> BoxFuture<'static, Answer> {
    async move {
        match ask {
            _ if core.leader() != Leader::Here => Answer::Refused(NotApplied::NoLeader),
            Ask::Txn(txn) => core.propose(txn).await.into(),
            Ask::ReadIndex => match core.rounds.next().await {
                Ok(index) => Answer::ReadIndex(index),
                Err(reason) => Answer::Refused(reason),
            },
        }
    }
    .boxed()
}

fn stopped(error: impl ToString) -> Status {
    Status::unavailable(error.to_string())
}
