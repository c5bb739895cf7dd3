//! Issuing and checking service account tokens.
//!
//! Not here: where the signing keys are stored, and who may request a token.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use quorate_meta::Names;
use quorate_store::Snapshot;
use tokio::sync::watch;

use super::cache::{Cache, Verified, hash};
use super::claims::{BoundObjectReference, Claims, ObjectIdentity};
use super::keys::KeySet;
use super::{Refusal, TokenCounts, TokenUse, jws};
use crate::authentication::User;
use crate::authentication::token::bound_object::{BoundObject, BoundObjectKind};

/// How far the clocks of two nodes may differ, seconds: a token may be used that much before its
/// time.
const CLOCK_SKEW: u64 = 5;

/// The claims of new tokens, and which tokens are accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenOptions {
    /// The issuers whose tokens are accepted; new tokens name the first. Never empty.
    pub issuers: Vec<String>,
    /// The audiences of this server: tokens for one of these are accepted as credentials. Never
    /// empty.
    pub audiences: Vec<String>,
    /// Seconds that a requested token lives at most; `None` for no limit but the API's.
    pub max_expiration: Option<u64>,
    /// Where relying parties find the keys.
    pub jwks_uri: String,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The account's namespace.
    pub namespace: String,
    /// The account.
    pub account: ObjectIdentity,
    /// Its audiences.
    pub audiences: Vec<String>,
    /// Seconds that it lives; `None` for a token that ends with the Secret which holds it.
    pub lifetime: Option<u64>,
    /// What it is bound to.
    pub bound: Option<BoundObjectReference>,
    /// Tells it from every other token.
    pub id: String,
}

/// A token that was made.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The token itself.
    pub token: String,
    /// When it ends, milliseconds since the Unix epoch; `None` for never.
    pub expires_ms: Option<u64>,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("expires_ms", &self.expires_ms).finish_non_exhaustive()
    }
}

/// A token that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its user.
    pub user: Arc<User>,
    /// Those of the requested audiences that it is for.
    pub audiences: Vec<String>,
}

/// The tokens of a cluster's service accounts.
pub struct ServiceAccountTokens {
    names: &'static Names,
    options: TokenOptions,
    keys: ArcSwapOption<Current>,
    verified: Cache,
    counts: TokenCounts,
    /// How often the keys have changed.
    changes: watch::Sender<u64>,
}

/// Keys with the number of their change.
struct Current {
    set: Arc<KeySet>,
    number: u64,
}

impl ServiceAccountTokens {
    /// Without keys: nothing is signed or accepted before [`ServiceAccountTokens::set_keys`].
    #[must_use]
    pub fn new(names: &'static Names, options: TokenOptions) -> Self {
        Self {
            names,
            options,
            keys: ArcSwapOption::empty(),
            verified: Cache::default(),
            counts: TokenCounts::default(),
            changes: watch::Sender::default(),
        }
    }

    /// The claims of new tokens, and which tokens are accepted.
    #[must_use]
    pub fn options(&self) -> &TokenOptions {
        &self.options
    }

    /// What was counted of the tokens that were used.
    #[must_use]
    pub fn counts(&self) -> &TokenCounts {
        &self.counts
    }

    /// Takes other keys from here on. What was verified with earlier ones is verified again.
    pub fn set_keys(&self, set: KeySet) {
        let set = Arc::new(set);
        self.keys.rcu(|before| {
            let number = before.as_ref().map_or(0, |before| before.number) + 1;
            Some(Arc::new(Current { set: set.clone(), number }))
        });
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Resolves once there are keys.
    pub async fn keys_known(&self) {
        let mut changes = self.changes.subscribe();
        // The sender lives as long as this does.
        let _ = changes.wait_for(|changes| *changes > 0).await;
    }

    /// Tells of every change of the keys from here on.
    pub fn key_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The keys, once there are any.
    #[must_use]
    pub fn keys(&self) -> Option<Arc<KeySet>> {
        self.keys.load().as_ref().map(|current| current.set.clone())
    }

    /// Makes a token.
    ///
    /// # Errors
    /// Without keys, when the key does not sign, and when the token would be longer than any that
    /// is accepted.
    pub fn issue(&self, issue: Issue, now_ms: u64) -> Result<Issued, Refusal> {
        let keys = self.keys().ok_or(Refusal::NoKeys)?;
        let now = now_ms / 1000;
        let claims = Claims {
            issuer: self.options.issuers.first().cloned().unwrap_or_default(),
            audiences: issue.audiences,
            expires: issue.lifetime.map(|lifetime| now.saturating_add(lifetime)),
            not_before: now,
            issued: now,
            id: issue.id,
            namespace: issue.namespace,
            account: issue.account,
            bound: issue.bound,
        };
        let token = jws::sign(keys.signing(now_ms), &claims.to_json(self.names)?)?;
        Ok(Issued { token, expires_ms: claims.expires.map(|seconds| seconds.saturating_mul(1000)) })
    }

    /// The user of a token, for one of these audiences, in this state of the cluster.
    ///
    /// # Errors
    /// The reason why it is not accepted.
    pub fn check(
        &self,
        token: &str,
        audiences: &[String],
        snapshot: &Snapshot,
        now_ms: u64,
    ) -> Result<Accepted, Refusal> {
        let verified = self.verified(token, now_ms)?;
        let claims = &verified.claims;
        let now = now_ms / 1000;
        if claims.expires.is_some_and(|end| now >= end) {
            return Err(Refusal::Expired);
        }
        if claims.not_before > now.saturating_add(CLOCK_SKEW) {
            return Err(Refusal::Early);
        }
        let common: Vec<String> =
            audiences.iter().filter(|asked| claims.audiences.contains(asked)).cloned().collect();
        if common.is_empty() {
            return Err(Refusal::Audience {
                token: claims.audiences.clone(),
                target: audiences.to_vec(),
            });
        }
        verified.account.check(self.names, snapshot, now_ms)?;
        if let Some(bound) = &verified.bound {
            bound.check(self.names, snapshot, now_ms).inspect_err(|refusal| {
                if *refusal == Refusal::Marked {
                    self.counts.count(TokenUse::OfInvalidSecret);
                }
            })?;
        }
        let is_of_secret = claims.expires.is_none();
        self.counts.count(if is_of_secret { TokenUse::OfSecret } else { TokenUse::Valid });
        Ok(Accepted { user: verified.user.clone(), audiences: common })
    }

    /// The token's claims: cached, or verified now.
    fn verified(&self, token: &str, now_ms: u64) -> Result<Arc<Verified>, Refusal> {
        let keys = self.keys.load();
        let keys = keys.as_ref().ok_or(Refusal::NoKeys)?;
        let hash = hash(token.as_bytes());
        if let Some(verified) = self.verified.get(&hash, keys.number, now_ms) {
            self.counts.count(TokenUse::Hit);
            return Ok(verified);
        }
        let claims = self.claims(&keys.set, token);
        self.counts.count(if claims.is_ok() { TokenUse::Verified } else { TokenUse::Failed });
        let claims = claims?;
        let bound_object = |kind, object| BoundObject::new(kind, &claims.namespace, object);
        let bound = claims.bound.as_ref().map(|bound| match bound {
            // The node of a pod is named, no more: the pod is deleted with its node.
            BoundObjectReference::Pod(pod, _) => bound_object(BoundObjectKind::Pod, pod),
            BoundObjectReference::Secret(secret) if claims.expires.is_none() => {
                bound_object(BoundObjectKind::TokenSecret(hash), secret)
            }
            BoundObjectReference::Secret(secret) => bound_object(BoundObjectKind::Secret, secret),
            BoundObjectReference::Node(node) => bound_object(BoundObjectKind::Node, node),
        });
        let account = bound_object(BoundObjectKind::Account, &claims.account);
        let user = Arc::new(claims.user(self.names));
        let verified =
            Verified { claims, user, account, bound, keys: keys.number, verified_ms: now_ms };
        let verified = Arc::new(verified);
        self.verified.insert(hash, verified.clone());
        Ok(verified)
    }

    /// The claims of a token that one of the keys has signed, for an issuer of this server.
    fn claims(&self, keys: &KeySet, token: &str) -> Result<Claims, Refusal> {
        let claims = Claims::from_json(self.names, &jws::verify(keys, token)?)?;
        if self.options.issuers.contains(&claims.issuer) {
            Ok(claims)
        } else {
            Err(Refusal::Issuer)
        }
    }
}

impl fmt::Debug for ServiceAccountTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccountTokens")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
