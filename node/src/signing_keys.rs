//! The messages between an operator's command and a node about signing keys. They never hold a
//! private key.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A request of an operator, and which keys it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRequest {
    pub(crate) kind: KeyKind,
    pub(crate) action: KeyAction,
}

/// What keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KeyKind {
    /// Tokens of service accounts.
    Tokens,
    /// Certificates that the well-known signers issue.
    Signers,
}

/// What to do with the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KeyAction {
    /// See the keys.
    List,
    /// Add a key, which signs as soon as every node knows it.
    Rotate,
    /// Take out the key with this id.
    Remove(String),
}

/// The keys as they are then, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyAnswer(pub(crate) Vec<KeyInfo>);

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyInfo {
    /// As the command names it; tokens name theirs so too.
    pub(crate) id: String,
    /// When it was made, milliseconds since the Unix epoch.
    pub(crate) created_ms: u64,
    /// Whether it signs what is made now.
    pub(crate) signs: bool,
}

impl KeyRequest {
    pub(crate) fn to_bytes(&self) -> Result<Bytes, Error> {
        Ok(serde_json::to_vec(self).map_err(Error::failed)?.into())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(Error::failed)
    }
}

impl KeyAnswer {
    pub(crate) fn to_bytes(&self) -> Result<Bytes, Error> {
        Ok(serde_json::to_vec(self).map_err(Error::failed)?.into())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(Error::failed)
    }
}
