//! What an operator's command and a node say to each other about the keys of service account tokens. Never a private half.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What an operator wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum KeyRequest {
    /// See the keys.
    List,
    /// Add a key, which signs from then on.
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
    /// As tokens name it.
    pub(crate) id: String,
    /// When it was made, milliseconds since the Unix epoch.
    pub(crate) created_ms: u64,
    /// Whether new tokens are signed with it.
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
