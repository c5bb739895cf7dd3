//! Where administrative requests are answered: by the asked node if it only looks, by the leader if it changes something.
//!
//! Invariant: a request is handed on at most [`MAX_HOPS`] times, so two nodes that disagree about the leader do not play ball.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::join::CertificateSigner;
use super::message::{AdminAnswer, AdminRequest, JoinAnswer, JoinRequest, NodeStatus};
use crate::membership::{AdminError, Member};
use crate::network::links::Purpose;
use crate::network::wire::{decode, encode};
use crate::replica::core::{Core, Leader};

/// How often a request is handed on at most.
const MAX_HOPS: u8 = 2;
/// How long the leader may take for a request that was handed on.
const HOP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a status waits for the leader's view of the members.
const MEMBERS_TIMEOUT: Duration = Duration::from_millis(500);

/// A request on its way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) hops: u8,
    pub(crate) request: AdminRequest,
}

/// Answers administrative requests.
pub(crate) struct Service {
    core: Arc<Core>,
    signer: Arc<dyn CertificateSigner>,
}

impl Service {
    /// For this replica, with the node's signer.
    pub(crate) fn new(core: Arc<Core>, signer: Arc<dyn CertificateSigner>) -> Self {
        Self { core, signer }
    }

    /// Answers a request of a member or of an operator.
    pub(crate) async fn answer(&self, envelope: Envelope) -> Result<AdminAnswer, AdminError> {
        match envelope.request {
            AdminRequest::Status => Ok(AdminAnswer::Status(self.status().await)),
            AdminRequest::Ready => Ok(self.core.read_index().await.map(|_| AdminAnswer::Done)?),
            AdminRequest::Members if envelope.hops > 0 => Ok(AdminAnswer::Members(self.core.members())),
            AdminRequest::Members => Ok(AdminAnswer::Members(self.members().await)),
            request => match self.core.leader() {
                Leader::Here => self.carry_out(request).await,
                Leader::Elsewhere(_, peer) if envelope.hops < MAX_HOPS => {
                    self.hand_on(&peer.address, Envelope { hops: envelope.hops + 1, request }).await
                }
                Leader::Elsewhere(..) | Leader::Unknown => Err(AdminError::unavailable("no leader")),
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

    async fn carry_out(&self, request: AdminRequest) -> Result<AdminAnswer, AdminError> {
        let core = &self.core;
        match request {
            AdminRequest::Status | AdminRequest::Members | AdminRequest::Ready => {
                unreachable!("looking needs no leader")
            }
            AdminRequest::Add(peer) => {
                let node = core.next_node().await?;
                core.add_learner(node, peer).await.map(|()| AdminAnswer::Node(node))
            }
            AdminRequest::Promote(node) => core.promote(node).await.map(|()| AdminAnswer::Done),
            AdminRequest::Remove(node) => core.remove(node).await.map(|()| AdminAnswer::Done),
            AdminRequest::Transfer(to) => core.transfer(to).await.map(AdminAnswer::Node),
            AdminRequest::CreateToken { description, ttl_ms } => {
                core.create_token(description, ttl_ms).await.map(AdminAnswer::Token)
            }
            AdminRequest::Tokens => core.tokens().await.map(AdminAnswer::Tokens),
            AdminRequest::RevokeToken(id) => core.revoke_token(&id).await.map(|()| AdminAnswer::Done),
            AdminRequest::Certify(request) => {
                self.signer.certify(request).await.map(AdminAnswer::Certified).map_err(AdminError::Refused)
            }
            AdminRequest::Keys(request) => {
                self.signer.keys(request).await.map(AdminAnswer::Keys).map_err(AdminError::Refused)
            }
            AdminRequest::Join(request) => core.admit_node(request, &*self.signer).await.map(AdminAnswer::Joined),
        }
    }

    async fn hand_on(&self, leader: &str, envelope: Envelope) -> Result<AdminAnswer, AdminError> {
        let link = self.core.links.link(leader, Purpose::Control);
        let mut connected = link.connected().await.map_err(|error| AdminError::unavailable(error.to_string()))?;
        match tokio::time::timeout(HOP_TIMEOUT, connected.client.admin(encode(&envelope))).await {
            Ok(answer) => decode(answer?.get_ref())?,
            Err(_) => Err(AdminError::Unknown("the leader did not answer in time".to_owned())),
        }
    }

    async fn status(&self) -> NodeStatus {
        let members = self.members().await;
        let (log_purged, log_last) = self.core.log_span();
        NodeStatus {
            cluster: self.core.cluster,
            store: self.core.status(),
            members,
            log_purged,
            log_last,
            changing_voters: self.core.is_changing_voters(),
        }
    }

    /// As the leader sees them if it answers soon.
    async fn members(&self) -> Vec<Member> {
        if let Leader::Elsewhere(_, peer) = self.core.leader() {
            let asking = self.hand_on(&peer.address, Envelope { hops: 1, request: AdminRequest::Members });
            if let Ok(Ok(AdminAnswer::Members(members))) = tokio::time::timeout(MEMBERS_TIMEOUT, asking).await {
                return members;
            }
        }
        self.core.members()
    }
}
