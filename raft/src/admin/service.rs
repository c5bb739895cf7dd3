//! The administrative service: requests that only look are answered by the asked node, all others
//! by the leader.
//!
//! Invariant: a request is forwarded at most [`MAX_HOPS`] times, so two nodes that disagree about
//! the leader do not send it back and forth for ever.

use std::sync::Arc;
use std::time::Duration;

use quorate_archive::ArchiveStatus;
use quorate_env::Env;
use quorate_store::Store;
use serde::{Deserialize, Serialize};

use super::join::{CertificateSigner, admit_node};
use super::message::{
    AdminAnswer, AdminRequest, ArchiveReport, JoinAnswer, JoinRequest, NodeStatus,
};
use super::tokens::Tokens;
use crate::core::{Leader, RaftNode};
use crate::membership::{self, AdminError, Member};
use crate::network::links::{Links, Purpose};
use crate::network::wire::{decode, encode};

/// How often a request is forwarded at most.
const MAX_HOPS: u8 = 2;
/// How long the leader may take for a forwarded request.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a status waits for the leader's view of the members.
const MEMBERS_TIMEOUT: Duration = Duration::from_millis(500);

/// A request with the number of times it was forwarded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) hops: u8,
    pub(crate) request: AdminRequest,
}

/// Says how the node's archive is.
pub(crate) type ArchiveProbe = Box<dyn Fn() -> Option<ArchiveStatus> + Send + Sync>;

/// Answers administrative requests.
pub(crate) struct AdminService {
    pub(crate) raft: Arc<RaftNode>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) links: Arc<Links>,
    pub(crate) env: Env,
    pub(crate) signer: Arc<dyn CertificateSigner>,
    pub(crate) archive: ArchiveProbe,
}

impl AdminService {
    /// Answers a request of a member or of an operator.
    pub(crate) async fn answer(&self, envelope: Envelope) -> Result<AdminAnswer, AdminError> {
        match envelope.request {
            AdminRequest::Status => Ok(AdminAnswer::Status(self.status().await)),
            AdminRequest::Ready => Ok(self.store.read_index().await.map(|_| AdminAnswer::Done)?),
            AdminRequest::Archive => {
                Ok(AdminAnswer::Archive((self.archive)().map(ArchiveReport::from)))
            }
            AdminRequest::Members if envelope.hops > 0 => {
                Ok(AdminAnswer::Members(membership::members(&self.raft)))
            }
            AdminRequest::Members => Ok(AdminAnswer::Members(self.members().await)),
            request => match self.raft.leader() {
                Leader::Here => self.execute(request).await,
                Leader::Elsewhere(_, peer) if envelope.hops < MAX_HOPS => {
                    self.forward(&peer.address, Envelope { hops: envelope.hops + 1, request }).await
                }
                Leader::Elsewhere(..) | Leader::Unknown => {
                    Err(AdminError::unavailable("no leader"))
                }
            },
        }
    }

    /// Answers a node that wants to join and has nothing but a token.
    pub(crate) async fn join(&self, request: JoinRequest) -> Result<JoinAnswer, AdminError> {
        match self.answer(Envelope { hops: 0, request: AdminRequest::Join(request) }).await? {
            AdminAnswer::Joined(answer) => Ok(answer),
            _ => Err(AdminError::Unknown("the leader answered another question".to_owned())),
        }
    }

    async fn execute(&self, request: AdminRequest) -> Result<AdminAnswer, AdminError> {
        let (raft, store, signer) = (&*self.raft, &*self.store, &*self.signer);
        let tokens = Tokens { store, env: &self.env };
        match request {
            AdminRequest::Status
            | AdminRequest::Members
            | AdminRequest::Ready
            | AdminRequest::Archive => {
                unreachable!("looking needs no leader")
            }
            AdminRequest::Add(peer) => {
                let node = membership::next_node_id(raft, store).await?;
                membership::add_learner(raft, node, peer).await.map(|()| AdminAnswer::Node(node))
            }
            AdminRequest::Promote(node) => {
                membership::promote(raft, node).await.map(|()| AdminAnswer::Done)
            }
            AdminRequest::Remove(node) => {
                membership::remove(raft, store, node).await.map(|()| AdminAnswer::Done)
            }
            AdminRequest::Transfer(to) => {
                membership::transfer_leadership(raft, to).await.map(AdminAnswer::Node)
            }
            AdminRequest::CreateToken { description, ttl_ms } => {
                tokens.create(description, ttl_ms).await.map(AdminAnswer::Token)
            }
            AdminRequest::Tokens => tokens.list().await.map(AdminAnswer::Tokens),
            AdminRequest::RevokeToken(id) => tokens.revoke(&id).await.map(|()| AdminAnswer::Done),
            AdminRequest::Certify(request) => signer
                .certify(request)
                .await
                .map(AdminAnswer::Certified)
                .map_err(AdminError::Refused),
            AdminRequest::Keys(request) => {
                signer.keys(request).await.map(AdminAnswer::Keys).map_err(AdminError::Refused)
            }
            AdminRequest::Join(request) => {
                admit_node(raft, tokens, signer, request).await.map(AdminAnswer::Joined)
            }
        }
    }

    async fn forward(&self, leader: &str, envelope: Envelope) -> Result<AdminAnswer, AdminError> {
        let link = self.links.link(leader, Purpose::Control);
        let mut connected =
            link.connected().await.map_err(|error| AdminError::unavailable(error.to_string()))?;
        match tokio::time::timeout(FORWARD_TIMEOUT, connected.client.admin(encode(&envelope))).await
        {
            Ok(answer) => decode(answer.map_err(AdminError::of_forward)?.get_ref())?,
            Err(_) => Err(AdminError::Unknown("the leader did not answer in time".to_owned())),
        }
    }

    async fn status(&self) -> NodeStatus {
        let members = self.members().await;
        let (log_purged, log_last) = self.raft.log_span();
        NodeStatus {
            cluster: self.raft.cluster(),
            store: self.store.status(),
            members,
            log_purged,
            log_last,
            changing_voters: membership::is_changing_voters(&self.raft),
        }
    }

    /// As the leader sees them if it answers soon.
    async fn members(&self) -> Vec<Member> {
        if let Leader::Elsewhere(_, peer) = self.raft.leader() {
            let asking =
                self.forward(&peer.address, Envelope { hops: 1, request: AdminRequest::Members });
            if let Ok(Ok(AdminAnswer::Members(members))) =
                tokio::time::timeout(MEMBERS_TIMEOUT, asking).await
            {
                return members;
            }
        }
        membership::members(&self.raft)
    }
}
