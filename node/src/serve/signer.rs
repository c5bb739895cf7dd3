//! Certificates for nodes that join and for users, made by the leader with the authorities in the
//! store.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use quorate_access::authentication::token::KeyMaterial;
use quorate_raft::admin::{CertificateSigner, SigningRequest};
use quorate_store::Store;

use super::issuer::SigningAuthority;
use super::{Parts, rotation};
use crate::error::Error;
use crate::join_protocol::{JoinAnswer, SigningRequests, UserSigningRequest};
use crate::pki::{Authority, Subject, names, sealed};
use crate::setup::{now, server_names};
use crate::signing_keys::{KeyKind, KeyRequest};

/// Signs for this node's cluster.
pub(super) struct Signer {
    pub(super) parts: Arc<Parts>,
    /// Set once the replica is open, before the first request.
    pub(super) store: Arc<OnceLock<Arc<dyn Store>>>,
}

#[async_trait]
impl CertificateSigner for Signer {
    async fn sign(&self, request: SigningRequest) -> Result<Bytes, String> {
        self.join(&request).and_then(|answer| answer.to_bytes()).map_err(|error| error.to_string())
    }

    async fn certify(&self, request: Bytes) -> Result<Bytes, String> {
        self.user(&request).map(Bytes::from).map_err(|error| error.to_string())
    }

    async fn keys(&self, request: Bytes) -> Result<Bytes, String> {
        let answer = async {
            let store =
                self.store.get().ok_or_else(|| Error::failed("the node is still starting"))?;
            let KeyRequest { kind, action } = KeyRequest::from_bytes(&request)?;
            let answer = match kind {
                KeyKind::Tokens => {
                    rotation::answer::<KeyMaterial>(&self.parts, &**store, &action).await?
                }
                KeyKind::Signers => {
                    rotation::answer::<SigningAuthority>(&self.parts, &**store, &action).await?
                }
            };
            answer.to_bytes()
        };
        answer.await.map_err(|error| error.to_string())
    }
}

impl Signer {
    /// A user's certificate, as PEM.
    fn user(&self, request: &[u8]) -> Result<String, Error> {
        let UserSigningRequest { csr, user, group } = UserSigningRequest::from_bytes(request)?;
        let authority = self.authority(names::AUTHORITY)?;
        authority.sign(&csr, &Subject::Client { user, group }, now(&self.parts.env))
    }

    fn authority(&self, name: &str) -> Result<Authority, Error> {
        let store = self.store.get().ok_or_else(|| Error::failed("the node is still starting"))?;
        sealed::authority(&**store, &self.parts.secret, name)
    }

    fn join(&self, request: &SigningRequest) -> Result<JoinAnswer, Error> {
        let Parts { config, env, secret, .. } = &*self.parts;
        let (authority, peer_authority) =
            (self.authority(names::AUTHORITY)?, self.authority(names::PEER_AUTHORITY)?);
        let asked = SigningRequests::from_bytes(&request.csr)?;
        let server = Subject::Server { names: server_names(config.naming, &request.peer.api) };
        let peer = Subject::Peer { cluster: config.cluster, node: request.node };
        Ok(JoinAnswer {
            naming: config.naming.to_string(),
            server: authority.sign(&asked.server, &server, now(env))?,
            peer: peer_authority.sign(&asked.peer, &peer, now(env))?,
            authority: authority.identity().certificate.clone(),
            peer_authority: peer_authority.identity().certificate.clone(),
            secret: secret.as_bytes().to_vec(),
        })
    }
}
