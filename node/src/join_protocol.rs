//! The messages about certificates between a joining node and a member, and between an operator's
//! command and a node.
//!
//! A joining node sends two signing requests, one for each of its certificates; the member answers
//! with the certificates, the authorities, the naming profile and the cluster secret. Both travel
//! inside the join call, over TLS, after the token has been checked. Secrets are never printed:
//! neither type implements `Debug` with its content.

use bytes::Bytes;
use quorate_meta::Naming;
use rcgen::{CertificateParams, KeyPair};
use serde::{Deserialize, Serialize};

use crate::data_dir::DataDir;
use crate::error::Error;
use crate::files::{write_private, write_public};
use crate::pki::{Identity, names};

/// The two signing requests of a joining node, as PEM.
#[derive(Serialize, Deserialize)]
pub(crate) struct SigningRequests {
    /// For its serving certificate.
    pub(crate) server: String,
    /// For its certificate among nodes.
    pub(crate) peer: String,
}

/// The private keys that belong to [`SigningRequests`], as PEM. They stay on the node.
pub(crate) struct NodeKeys {
    server: String,
    peer: String,
}

/// What an operator's command asks a node to sign.
#[derive(Serialize, Deserialize)]
pub(crate) struct UserSigningRequest {
    /// The signing request, as PEM.
    pub(crate) csr: String,
    /// The user's name.
    pub(crate) user: String,
    /// The user's group, if any.
    pub(crate) group: Option<String>,
}

/// What a node that was let in has to keep.
#[derive(Serialize, Deserialize)]
pub(crate) struct JoinAnswer {
    /// The naming profile of the cluster.
    pub(crate) naming: String,
    /// The node's serving certificate.
    pub(crate) server: String,
    /// The node's certificate among nodes.
    pub(crate) peer: String,
    /// The authority of serving and client certificates.
    pub(crate) authority: String,
    /// The authority among nodes.
    pub(crate) peer_authority: String,
    /// The cluster secret.
    pub(crate) secret: Vec<u8>,
}

impl SigningRequests {
    /// New keys and the requests for them.
    pub(crate) fn new() -> Result<(Self, NodeKeys), Error> {
        let (server, server_key) = request()?;
        let (peer, peer_key) = request()?;
        Ok((Self { server, peer }, NodeKeys { server: server_key, peer: peer_key }))
    }

    /// As sent.
    pub(crate) fn to_bytes(&self) -> Result<Bytes, Error> {
        Ok(serde_json::to_vec(self).map_err(Error::failed)?.into())
    }

    /// As received.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::failed(format_args!("signing requests: {error}")))
    }
}

impl UserSigningRequest {
    /// A new key, as PEM, and the request for it.
    pub(crate) fn new(user: &str, group: Option<&str>) -> Result<(Self, String), Error> {
        let (csr, key) = request()?;
        Ok((Self { csr, user: user.to_owned(), group: group.map(str::to_owned) }, key))
    }

    /// As sent.
    pub(crate) fn to_bytes(&self) -> Result<Bytes, Error> {
        Ok(serde_json::to_vec(self).map_err(Error::failed)?.into())
    }

    /// As received.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::failed(format_args!("signing request: {error}")))
    }
}

impl JoinAnswer {
    /// As sent.
    pub(crate) fn to_bytes(&self) -> Result<Bytes, Error> {
        Ok(serde_json::to_vec(self).map_err(Error::failed)?.into())
    }

    /// As received.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::failed(format_args!("certificates: {error}")))
    }

    /// The naming profile.
    pub(crate) fn naming(&self) -> Result<Naming, Error> {
        self.naming.parse().map_err(Error::failed)
    }

    /// Fills the `pki` folder of the new node.
    pub(crate) fn write(self, dir: &DataDir, keys: &NodeKeys) -> Result<(), Error> {
        let pki = dir.pki();
        write_public(&pki.join(names::AUTHORITY_CERTIFICATE), self.authority.as_bytes())?;
        write_public(&pki.join(names::PEER_AUTHORITY_CERTIFICATE), self.peer_authority.as_bytes())?;
        write_private(&dir.cluster_secret(), &self.secret)?;
        Identity { certificate: self.server, key: keys.server.clone() }
            .write(&pki, names::SERVER)?;
        Identity { certificate: self.peer, key: keys.peer.clone() }.write(&pki, names::PEER)
    }
}

fn request() -> Result<(String, String), Error> {
    let key = KeyPair::generate().map_err(Error::failed)?;
    let request = CertificateParams::default().serialize_request(&key).map_err(Error::failed)?;
    Ok((request.pem().map_err(Error::failed)?, key.serialize_pem()))
}
