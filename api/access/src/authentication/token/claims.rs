//! The claims of a service account token, and their JSON form (RFC 7519).
//!
//! Invariant: the private claims have the name of the cluster's naming profile, so a token of one
//! profile is none in the other.

use quorate_meta::Names;
use quorate_meta::well_known::{GROUP_SERVICE_ACCOUNTS, USER_SERVICE_ACCOUNT_PREFIX};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Refusal;
use crate::authentication::User;

/// The name and uid of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectIdentity {
    /// Its name.
    pub name: String,
    /// Its uid; empty for a node that is named but does not exist.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The object that a token is bound to, besides its service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundObjectReference {
    /// A pod that runs as the account, and the node that it runs on.
    Pod(ObjectIdentity, Option<ObjectIdentity>),
    /// A secret in the account's namespace.
    Secret(ObjectIdentity),
    /// A node.
    Node(ObjectIdentity),
}

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) issuer: String,
    pub(super) audiences: Vec<String>,
    /// Seconds since the Unix epoch, as are the next two; `None` for the token that a Secret holds.
    pub(super) expires: Option<u64>,
    pub(super) not_before: u64,
    pub(super) issued: u64,
    /// Tells it from every other token.
    pub(super) id: String,
    pub(super) namespace: String,
    pub(super) account: ObjectIdentity,
    pub(super) bound: Option<BoundObjectReference>,
}

#[derive(Serialize, Deserialize)]
struct Registered {
    aud: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    iat: u64,
    iss: String,
    jti: String,
    nbf: u64,
    sub: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Private {
    namespace: String,
    serviceaccount: ObjectIdentity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<ObjectIdentity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<ObjectIdentity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<ObjectIdentity>,
}

impl Claims {
    pub(super) fn to_json(&self, names: &Names) -> Result<Vec<u8>, Refusal> {
        let (mut pod, mut secret, mut node) = (None, None, None);
        match self.bound.clone() {
            Some(BoundObjectReference::Pod(bound, on)) => (pod, node) = (Some(bound), on),
            Some(BoundObjectReference::Secret(bound)) => secret = Some(bound),
            Some(BoundObjectReference::Node(bound)) => node = Some(bound),
            None => {}
        }
        let private = Private {
            namespace: self.namespace.clone(),
            serviceaccount: self.account.clone(),
            pod,
            secret,
            node,
        };
        let private = serde_json::to_value(private).map_err(|_| Refusal::Unsigned)?;
        let registered = Registered {
            aud: self.audiences.clone(),
            exp: self.expires,
            iat: self.issued,
            iss: self.issuer.clone(),
            jti: self.id.clone(),
            nbf: self.not_before,
            sub: self.user_name(),
            others: Map::from_iter([(names.jwt_claim.to_owned(), private)]),
        };
        serde_json::to_vec(&registered).map_err(|_| Refusal::Unsigned)
    }

    pub(super) fn from_json(names: &Names, json: &[u8]) -> Result<Self, Refusal> {
        let mut said: Registered = serde_json::from_slice(json).map_err(|_| Refusal::Claims)?;
        let private = said.others.remove(names.jwt_claim).ok_or(Refusal::Claims)?;
        let private: Private = serde_json::from_value(private).map_err(|_| Refusal::Claims)?;
        let bound = match (private.pod, private.secret, private.node) {
            (Some(pod), None, node) => Some(BoundObjectReference::Pod(pod, node)),
            (None, Some(secret), None) => Some(BoundObjectReference::Secret(secret)),
            (None, None, Some(node)) => Some(BoundObjectReference::Node(node)),
            (None, None, None) => None,
            _ => return Err(Refusal::Claims),
        };
        let claims = Self {
            issuer: said.iss,
            audiences: said.aud,
            expires: said.exp,
            not_before: said.nbf,
            issued: said.iat,
            id: said.jti,
            namespace: private.namespace,
            account: private.serviceaccount,
            bound,
        };
        // Only what is in a Secret, and so can be taken out of it, may live for ever.
        let may_last = claims.expires.is_some()
            || matches!(claims.bound, Some(BoundObjectReference::Secret(_)));
        if claims.user_name() == said.sub && may_last { Ok(claims) } else { Err(Refusal::Claims) }
    }

    fn user_name(&self) -> String {
        format!("{USER_SERVICE_ACCOUNT_PREFIX}{}:{}", self.namespace, self.account.name)
    }

    /// The user of the token.
    pub(super) fn user(&self, names: &Names) -> User {
        let groups = [
            GROUP_SERVICE_ACCOUNTS.to_owned(),
            format!("{GROUP_SERVICE_ACCOUNTS}:{}", self.namespace),
        ];
        let mut extra = vec![("credential-id", format!("JTI={}", self.id))];
        let mut tell = |of: &ObjectIdentity, name: &'static str, uid: &'static str| {
            extra.push((name, of.name.clone()));
            if !of.uid.is_empty() {
                extra.push((uid, of.uid.clone()));
            }
        };
        match &self.bound {
            Some(BoundObjectReference::Pod(pod, node)) => {
                tell(pod, "pod-name", "pod-uid");
                if let Some(node) = node {
                    tell(node, "node-name", "node-uid");
                }
            }
            Some(BoundObjectReference::Node(node)) => tell(node, "node-name", "node-uid"),
            Some(BoundObjectReference::Secret(_)) | None => {}
        }
        let mut extra: Vec<_> =
            extra.into_iter().map(|(key, value)| (names.user_extra(key), vec![value])).collect();
        extra.sort();
        User { uid: self.account.uid.clone(), extra, ..User::new(self.user_name(), groups) }
    }
}
