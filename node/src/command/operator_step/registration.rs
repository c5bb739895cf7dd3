//! The registration of a cluster: the Secret of the cluster that the pods run in, which says whether it was
//! founded, and with which token nodes may join.
//!
//! Invariant: it goes from absent to founding to founded, and never back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::Value;
use quorate_raft::ClusterId;
use serde_json::json;

use crate::error::Error;

/// What is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Registration {
    /// A pod has claimed the founding, under a random number; nothing has been served yet.
    Founding { claim: String },
    /// The cluster is there.
    Founded(Founded),
}

/// A cluster that was founded.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Founded {
    /// Its identity.
    pub(super) cluster: ClusterId,
    /// Hash of its peer authority, as `quorate join` takes it.
    pub(super) ca_hash: String,
    /// A token to join with, once the leader has made one.
    pub(super) token: Option<String>,
}

/// The token is a secret.
impl std::fmt::Debug for Founded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Founded").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Registration {
    /// Reads the Secret.
    pub(super) fn read(secret: &Value) -> Result<Self, Error> {
        let wrong = |what: &str| Error::config(format_args!("registration: {what}"));
        let entry = |name: &str| {
            let encoded = secret.str_at(&["data", name])?;
            String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
        };
        match entry("state").as_deref() {
            Some("founding") => Ok(Self::Founding { claim: entry("claim").unwrap_or_default() }),
            Some("founded") => {
                let cluster = entry("cluster").and_then(|cluster| cluster.parse().ok());
                Ok(Self::Founded(Founded {
                    cluster: cluster.ok_or_else(|| wrong("it names no cluster"))?,
                    ca_hash: entry("caHash").ok_or_else(|| wrong("it has no hash"))?,
                    token: entry("token"),
                }))
            }
            _ => Err(wrong("its state is neither founding nor founded")),
        }
    }

    /// The Secret of this name; `version` is that of the one that it replaces.
    pub(super) fn write(&self, name: &str, version: Option<&str>) -> Value {
        let mut entries = json!({});
        let mut put = |name: &str, value: &str| entries[name] = json!(STANDARD.encode(value));
        match self {
            Self::Founding { claim } => {
                put("state", "founding");
                put("claim", claim);
            }
            Self::Founded(founded) => {
                put("state", "founded");
                put("cluster", &founded.cluster.to_string());
                put("caHash", &founded.ca_hash);
                if let Some(token) = &founded.token {
                    put("token", token);
                }
            }
        }
        let mut metadata = json!({ "name": name });
        if let Some(version) = version {
            metadata["resourceVersion"] = json!(version);
        }
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": entries,
        })
        .into()
    }
}
