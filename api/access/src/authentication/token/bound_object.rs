//! Bound objects: whether an object that a token is bound to still exists and is still the same.
//!
//! Invariants: every check looks at the state that it is given, so an object that was deleted there
//! is gone at once; what was found at a revision of the object is kept with that revision, since an
//! object only changes with it.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_meta::{Names, Time};
use quorate_store::{Revision, Snapshot};
use quorate_wire::stored::StoredRef;
use serde::Deserialize;

use super::Refusal;
use super::cache::{TokenHash, hash};
use super::claims::ObjectIdentity;
use quorate_registry::keys::Key;

/// How long a token outlives the deletion timestamp of its object, milliseconds: a pod that shuts
/// down may still use it.
const DELETION_GRACE_MS: u64 = 60_000;

/// The kind of a bound object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundObjectKind {
    Account,
    Pod,
    Secret,
    /// A Secret that holds the token itself, which does not expire.
    TokenSecret(TokenHash),
    Node,
}

impl BoundObjectKind {
    fn resource(self) -> &'static str {
        match self {
            Self::Account => "serviceaccounts",
            Self::Pod => "pods",
            Self::Secret | Self::TokenSecret(_) => "secrets",
            Self::Node => "nodes",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Account => "service account",
            Self::Pod => "pod",
            Self::Secret | Self::TokenSecret(_) => "secret",
            Self::Node => "node",
        }
    }
}

/// An object that a token is bound to.
#[derive(Debug)]
pub(super) struct BoundObject {
    kind: BoundObjectKind,
    key: Bytes,
    uid: String,
    found: Mutex<LastCheck>,
}

/// At this revision it was the same object, and will count as there until then.
#[derive(Debug, Clone, Copy, Default)]
struct LastCheck {
    at: Revision,
    until_ms: u64,
}

/// The part of a Secret that holds a token.
#[derive(Deserialize)]
struct TokenSecret {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    labels: Option<HashMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(default)]
    token: String,
}

impl BoundObject {
    pub(super) fn new(kind: BoundObjectKind, namespace: &str, object: &ObjectIdentity) -> Self {
        let namespace = (kind != BoundObjectKind::Node).then_some(namespace);
        let key =
            Key::Object { group: "", resource: kind.resource(), namespace, name: &object.name }
                .encode();
        Self { kind, key, uid: object.uid.clone(), found: Mutex::default() }
    }

    /// Whether the object exists in this state.
    pub(super) fn check(
        &self,
        names: &Names,
        snapshot: &Snapshot,
        now_ms: u64,
    ) -> Result<(), Refusal> {
        let gone = || Refusal::Gone(self.kind.name());
        let entry = snapshot.get(&self.key).ok_or_else(gone)?;
        let mut found = self.found.lock();
        if found.at != entry.modified {
            let until_ms = self.look(names, &entry.value)?;
            *found = LastCheck { at: entry.modified, until_ms };
        }
        if now_ms <= found.until_ms { Ok(()) } else { Err(gone()) }
    }

    /// Until when the stored object counts as the one that is meant.
    fn look(&self, names: &Names, value: &Bytes) -> Result<u64, Refusal> {
        let gone = || Refusal::Gone(self.kind.name());
        let stored = StoredRef::parse(value).map_err(|_| gone())?;
        if stored.uid() != self.uid {
            return Err(gone());
        }
        if let BoundObjectKind::TokenSecret(token) = self.kind {
            let holder: TokenSecret =
                serde_json::from_slice(stored.json_slice()).map_err(|_| Refusal::Replaced)?;
            let held = STANDARD.decode(&holder.data.token).map_err(|_| Refusal::Replaced)?;
            if holder.kind != names.domain_key("service-account-token") || hash(&held) != token {
                return Err(Refusal::Replaced);
            }
            let labels = holder.metadata.labels.unwrap_or_default();
            let mark = labels.get(&names.domain_key("legacy-token-invalid-since"));
            if mark.is_some_and(|since| !since.is_empty()) {
                return Err(Refusal::Marked);
            }
        }
        match stored.deletion_timestamp() {
            None => Ok(u64::MAX),
            Some(text) => {
                Ok(Time::parse(text).map_err(|_| gone())?.ms().saturating_add(DELETION_GRACE_MS))
            }
        }
    }
}
