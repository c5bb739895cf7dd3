//! The server of the peer RPC: lets members of this cluster in and passes their calls to openraft,
//! to the proposals and to administration.
//!
//! Invariants: every method but *join* begins with [`PeerService::admit`]; what could count for a
//! quorum waits at the start gate (`rollback`). Nothing is decided here.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt, future};
use openraft::raft::{AppendEntriesRequest, TransferLeaderRequest, VoteRequest};
use quorate_store::{NodeId, NotApplied, Outcome, Txn};
use quorate_trace::{ParentSpan, SpanKind, Tracer, scope};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

use super::backfill::ArchiveService;
use super::forward::message::{AND_STATES, ForwardRequest, ForwardResponse, TAKES_TRACES};
use super::forward::serve;
use super::snapshot_installs::SnapshotInstalls;
use super::store::{ReplicaStore, kind_of};
use super::task_seeds::TaskSeeds;
use crate::admin::AdminService;
use crate::core::{Leader, RaftNode};
use crate::membership::PeerCheck;
use crate::network::call_auth::{PeerPolicy, admit, speaks_for};
use crate::network::protocol;
use crate::network::rpc::peer_server::Peer;
use crate::network::snapshot;
use crate::network::wire::{decode, encode};
use crate::rollback::{HighWaterMarks, StartGate, seen_of};
use crate::state_machine::SnapshotReceiver;
use crate::types::TypeConfig;

/// Answers the calls of all peers.
pub(super) struct PeerService {
    pub(super) raft: Arc<RaftNode>,
    pub(super) store: Arc<ReplicaStore>,
    pub(super) peers: Arc<PeerCheck>,
    pub(super) admin: Arc<AdminService>,
    pub(super) receiver: SnapshotReceiver,
    pub(super) installs: Arc<SnapshotInstalls>,
    pub(super) seeds: Arc<TaskSeeds>,
    pub(super) marks: Arc<HighWaterMarks>,
    pub(super) gate: Arc<StartGate>,
    pub(super) archive: Arc<ArchiveService>,
    /// Traces what followers forward; `None` where no traces are kept.
    pub(super) tracer: Option<Arc<Tracer>>,
}

/// Answers of a stream of entries that the connection has not taken yet.
const MAX_ANSWERS: usize = 64;

impl PeerService {
    /// The calling node.
    fn admit<T>(&self, request: &Request<T>) -> Result<NodeId, Status> {
        admit(&*self.peers, request)
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
        self.marks.voted(caller, asked.vote.leader_id);
        self.gate.passed().await;
        let vote = self.raft.openraft().vote(asked).await;
        Ok(Response::new(encode(&vote.map_err(stopped)?)))
    }

    async fn pre_vote(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        let asked: VoteRequest<TypeConfig> = decode(request.get_ref())?;
        speaks_for(caller, asked.vote.leader_id.node_id)?;
        self.gate.passed().await;
        let vote = self.raft.openraft().pre_vote(asked).await;
        Ok(Response::new(encode(&vote.map_err(stopped)?)))
    }

    async fn rollback_check(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        Ok(Response::new(encode(&seen_of(&self.raft, &self.marks, caller).await)))
    }

    async fn transfer_leader(&self, request: Request<Bytes>) -> UnaryReply {
        let caller = self.admit(&request)?;
        let asked: TransferLeaderRequest<TypeConfig> = decode(request.get_ref())?;
        speaks_for(caller, asked.from_leader().leader_id.node_id)?;
        self.gate.passed().await;
        let taken = self.raft.openraft().handle_transfer_leader(asked).await;
        Ok(Response::new(encode(&taken.map_err(stopped)?)))
    }

    async fn append(
        &self,
        request: Request<Streaming<Bytes>>,
    ) -> Result<Response<FrameStream>, Status> {
        let caller = self.admit(&request)?;
        self.gate.passed().await;
        let requests = request
            .into_inner()
            .map(move |frame| entries_of(caller, &frame?))
            .take_while(|request| future::ready(request.is_ok()))
            .filter_map(|request| future::ready(request.ok()));
        let (sender, receiver) = mpsc::channel(MAX_ANSWERS);
        tokio::spawn(append(self.raft.clone(), self.seeds.clone(), requests, sender));
        Ok(Response::new(ReceiverStream::new(receiver).boxed()))
    }

    async fn snapshot(&self, request: Request<Streaming<Bytes>>) -> UnaryReply {
        let caller = self.admit(&request)?;
        self.gate.passed().await;
        let _installing = self.installs.begin();
        snapshot::receive(self.raft.openraft(), &self.receiver, caller, request.into_inner())
            .await
            .map(Response::new)
    }

    async fn forward(
        &self,
        request: Request<Streaming<Bytes>>,
    ) -> Result<Response<FrameStream>, Status> {
        let caller = self.admit(&request)?;
        let (raft, peers, store) = (self.raft.clone(), self.peers.clone(), self.store.clone());
        let tracer = self.tracer.clone();
        let answer = move |asked| {
            let store = (store.clone(), tracer.clone());
            answer(raft.clone(), peers.clone(), store, caller, asked)
        };
        let frames = serve::serve(request.into_inner(), answer);
        let mut response = Response::new(ReceiverStream::new(frames).boxed());
        if self.tracer.is_some() {
            response.metadata_mut().insert(TAKES_TRACES, MetadataValue::from_static(AND_STATES));
        }
        Ok(response)
    }

    async fn admin(&self, request: Request<Bytes>) -> UnaryReply {
        self.admit(&request)?;
        let knows_reasons = protocol::understands(request.metadata(), protocol::NAMED_REASONS);
        let answer = self.admin.answer(decode(request.get_ref())?).await;
        let answer = answer.map_err(|error| if knows_reasons { error } else { error.plain() });
        Ok(Response::new(encode(&answer)))
    }

    async fn join(&self, request: Request<Bytes>) -> UnaryReply {
        protocol::check(request.metadata())?;
        let answer = self.admin.join(decode(request.get_ref())?).await;
        Ok(Response::new(encode(&answer)))
    }

    async fn archive_inventory(&self, request: Request<Bytes>) -> UnaryReply {
        self.admit(&request)?;
        self.archive.inventory(request.get_ref()).await.map(Response::new)
    }

    async fn archive_changes(&self, request: Request<Bytes>) -> UnaryReply {
        self.admit(&request)?;
        self.archive.changes(request.get_ref()).await.map(Response::new)
    }
}

/// A leader's entries, if it is the caller.
fn entries_of(caller: NodeId, frame: &[u8]) -> Result<AppendEntriesRequest<TypeConfig>, Status> {
    let entries: AppendEntriesRequest<TypeConfig> = decode(frame)?;
    speaks_for(caller, entries.vote.leader_id.node_id)?;
    Ok(entries)
}

/// Passes a leader's entries to openraft, and its answers back, until either ends.
async fn append(
    raft: Arc<RaftNode>,
    seeds: Arc<TaskSeeds>,
    requests: impl Stream<Item = AppendEntriesRequest<TypeConfig>> + Send + 'static,
    sender: mpsc::Sender<Result<Bytes, Status>>,
) {
    let appending = async {
        let mut answers = pin!(raft.openraft().stream_append(requests));
        while let Some(answer) = answers.next().await {
            let answer = answer.map(|appended| encode(&appended)).map_err(stopped);
            if sender.send(answer).await.is_err() {
                return;
            }
        }
    };
    seeds.scope(appending).await;
}

/// What the leader does for a follower. Never forwarded again: a follower that is wrong about the
/// leader tries again.
fn answer(
    raft: Arc<RaftNode>,
    peers: Arc<PeerCheck>,
    (store, tracer): (Arc<ReplicaStore>, Option<Arc<Tracer>>),
    caller: NodeId,
    asked: ForwardRequest,
) -> BoxFuture<'static, ForwardResponse> {
    async move {
        match asked {
            // Removed while its stream was open.
            _ if peers.has_left(caller) => ForwardResponse::Refused(NotApplied::Unavailable(
                "this node was removed".to_owned(),
            )),
            _ if raft.leader() != Leader::Here => ForwardResponse::Refused(NotApplied::NoLeader),
            ForwardRequest::Txn(txn) => store.proposals.propose(txn).await.into(),
            ForwardRequest::TracedTxn(trace, txn) => {
                propose_traced(&store, tracer.as_deref(), trace.parent(""), txn).await.into()
            }
            ForwardRequest::StatedTxn(trace, state, txn) => {
                propose_traced(&store, tracer.as_deref(), trace.parent(&state), txn).await.into()
            }
            ForwardRequest::ReadIndex => match store.reads.next().await {
                Ok(index) => ForwardResponse::ReadIndex(index),
                Err(reason) => ForwardResponse::Refused(reason),
            },
        }
    }
    .boxed()
}

/// Proposes a transaction in a span of the trace that it belongs to.
async fn propose_traced(
    store: &ReplicaStore,
    tracer: Option<&Tracer>,
    parent: Option<ParentSpan>,
    txn: Txn,
) -> Result<Outcome, quorate_store::Error> {
    let Some((tracer, parent)) = tracer.zip(parent) else {
        return store.proposals.propose(txn).await;
    };
    let (trace, begin) = (tracer.resume(parent), Instant::now());
    let decided = scope(trace.span().clone(), store.proposals.propose(txn)).await;
    let mut span = trace.part("raft.propose", begin, Instant::now());
    span.kind = SpanKind::Server;
    span.error = decided.as_ref().err().map(|error| kind_of(error).to_owned());
    trace.finish(span, Vec::new());
    decided
}

fn stopped(error: impl ToString) -> Status {
    Status::unavailable(error.to_string())
}
