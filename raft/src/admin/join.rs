//! Joining: a node with a token becomes a learner and gets its certificates.
//!
//! Invariants: the order is token, node id, certificates, membership, so that a node without a
//! token gets nothing and a member always has its certificates; repeating a join after a lost
//! answer gives the same id as long as the node is a learner.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_env::Network;
use quorate_store::NodeId;

use super::message::{JoinAnswer, JoinRequest};
use super::tokens::Tokens;
use crate::core::RaftNode;
use crate::membership::{AdminError, Role, add_learner, members, next_node_id};
use crate::network::connector::ClientTls;
use crate::network::link::Dialer;
use crate::network::tls::joining_client;
use crate::network::wire::{decode, encode};
use crate::types::Peer;

/// What is to be signed for a joining node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningRequest {
    /// The id that the node got.
    pub node: NodeId,
    /// Where it will be.
    pub peer: Peer,
    /// What the node sent, in the signer's own form.
    pub csr: Bytes,
}

/// Makes certificates: of joining nodes, and of users for an operator. Runs on the leader.
#[async_trait]
pub trait CertificateSigner: Send + Sync {
    /// Checks the request and signs it; the answer travels back to the node unread. An error is one
    /// line for its operator.
    async fn sign(&self, request: SigningRequest) -> Result<Bytes, String>;

    /// Signs the certificate of a user, for an operator; both ends are the node's program, in a
    /// form of its own.
    async fn certify(&self, request: Bytes) -> Result<Bytes, String>;

    /// Looks at or changes the keys that nodes keep for the API, for an operator; likewise in a
    /// form of its own.
    async fn keys(&self, request: Bytes) -> Result<Bytes, String>;
}

/// Lets a node in. Runs on the leader.
pub(super) async fn admit_node(
    raft: &RaftNode,
    tokens: Tokens<'_>,
    signer: &dyn CertificateSigner,
    request: JoinRequest,
) -> Result<JoinAnswer, AdminError> {
    tokens.check(&request.token).await?;
    let known = members(raft).into_iter().find(|member| member.address == request.peer.address);
    let node = match known {
        Some(member) if member.role == Role::Learner => member.node,
        Some(member) => {
            let address = request.peer.address;
            return Err(AdminError::refused(format!(
                "{address} is the address of voter {}; remove it first",
                member.node
            )));
        }
        None => next_node_id(raft, tokens.store).await?,
    };
    let JoinRequest { peer, csr, .. } = request;
    let signing = signer.sign(SigningRequest { node, peer: peer.clone(), csr }).await;
    let identity = signing.map_err(AdminError::Refused)?;
    add_learner(raft, node, peer).await?;
    Ok(JoinAnswer { cluster: raft.cluster(), node, members: members(raft), identity })
}

/// Asks the member at `address` to let this node in. The member is trusted because its certificate
/// comes from the peer authority with this hash (see [`crate::authority_hash`]).
pub async fn join(
    network: Arc<dyn Network>,
    address: &str,
    authority: [u8; 32],
    request: &JoinRequest,
) -> Result<JoinAnswer, AdminError> {
    let tls = joining_client(authority).map_err(|error| AdminError::refused(error.to_string()))?;
    let dialer = Dialer { network, tls: ClientTls::Joining(tls), cluster: None, fatal: None };
    let dialed = dialer.dial(address).await;
    let mut client = dialed
        .map_err(|error| AdminError::unavailable(format!("cannot reach {address}: {error}")))?;
    let answer = client.join(encode(request)).await?;
    decode(answer.get_ref())?
}
