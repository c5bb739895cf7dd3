//! Join tokens in the replicated store: one key each, postcard of [`StoredToken`].
//!
//! Invariants: a token is valid from its creation until it expires or is revoked, on every node
//! alike; expired tokens are removed when a token is made. Times are the leader's clock.

use bytes::Bytes;
use quorate_env::Env;
use quorate_store::{Condition, Operation, Outcome, Store, Txn};
use serde::{Deserialize, Serialize};

use super::message::TokenInfo;
use super::token::JoinToken;
use crate::keys;
use crate::membership::AdminError;

/// Tokens that may be valid at once.
const MAX_TOKENS: usize = 1000;
/// The longest life of a token: a year, in milliseconds.
const MAX_TTL_MS: u64 = 365 * 24 * 60 * 60 * 1000;

#[derive(Debug, Serialize, Deserialize)]
struct StoredToken {
    hash: [u8; 32],
    description: String,
    created_ms: u64,
    expires_ms: u64,
}

/// The join tokens of the cluster, as the leader handles them.
pub(super) struct Tokens<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) env: &'a Env,
}

impl Tokens<'_> {
    /// Makes a token.
    pub(super) async fn create(
        &self,
        description: String,
        ttl_ms: u64,
    ) -> Result<JoinToken, AdminError> {
        if ttl_ms == 0 || ttl_ms > MAX_TTL_MS {
            return Err(AdminError::refused(
                "a token lives for at least a moment and at most a year",
            ));
        }
        self.store.read_index().await?;
        let now = self.env.clock.now_ms();
        let (expired, valid): (Vec<_>, Vec<_>) =
            self.stored().into_iter().partition(|(_, t)| t.expires_ms <= now);
        if valid.len() >= MAX_TOKENS {
            return Err(AdminError::refused(format!(
                "there are {MAX_TOKENS} valid tokens already; revoke some"
            )));
        }
        let token = JoinToken::generate(&*self.env.entropy);
        let stored = StoredToken {
            hash: token.hash(),
            description,
            created_ms: now,
            expires_ms: now + ttl_ms,
        };
        let value = postcard::to_stdvec(&stored).expect("plain data");
        let put = Operation::Put { key: key(token.id()), value: value.into() };
        let sweep = expired.into_iter().map(|(id, _)| Operation::Delete { key: key(&id) });
        let unused =
            Condition::Modified { key: key(token.id()), revision: quorate_store::Revision::ZERO };
        let txn = Txn {
            conditions: vec![unused],
            operations: sweep.chain([put]).collect(),
            ..Txn::default()
        };
        match self.store.txn(txn).await? {
            Outcome::Committed { .. } => Ok(token),
            Outcome::Conflict { .. } => {
                Err(AdminError::unavailable("the new token's id is taken; try again"))
            }
        }
    }

    /// The valid tokens.
    pub(super) async fn list(&self) -> Result<Vec<TokenInfo>, AdminError> {
        self.store.read_index().await?;
        let now = self.env.clock.now_ms();
        let valid = self.stored().into_iter().filter(|(_, token)| token.expires_ms > now);
        Ok(valid
            .map(|(id, StoredToken { description, created_ms, expires_ms, .. })| TokenInfo {
                id,
                description,
                created_ms,
                expires_ms,
            })
            .collect())
    }

    /// Makes a token invalid.
    pub(super) async fn revoke(&self, id: &str) -> Result<(), AdminError> {
        let (conditions, operations) =
            (vec![Condition::Exists { key: key(id) }], vec![Operation::Delete { key: key(id) }]);
        match self.store.txn(Txn { conditions, operations, ..Txn::default() }).await? {
            Outcome::Committed { .. } => Ok(()),
            Outcome::Conflict { .. } => Err(AdminError::refused(format!("there is no token {id}"))),
        }
    }

    /// Refuses a token that is not valid now.
    pub(super) async fn check(&self, token: &JoinToken) -> Result<(), AdminError> {
        self.store.read_index().await?;
        let now = self.env.clock.now_ms();
        let entry = self.store.snapshot().get(&key(token.id())).cloned();
        let stored = entry.and_then(|entry| postcard::from_bytes::<StoredToken>(&entry.value).ok());
        match stored {
            Some(stored) if token.matches(&stored.hash) && stored.expires_ms > now => Ok(()),
            _ => Err(AdminError::refused("the join token is unknown, revoked or expired")),
        }
    }

    fn stored(&self) -> Vec<(String, StoredToken)> {
        let snapshot = self.store.snapshot();
        let tokens = snapshot.range(keys::TOKENS, None).filter_map(|(key, entry)| {
            let id = std::str::from_utf8(&key[keys::TOKENS.len()..]).ok()?.to_owned();
            Some((id, postcard::from_bytes(&entry.value).ok()?))
        });
        tokens.collect()
    }
}

fn key(id: &str) -> Bytes {
    [keys::TOKENS, id.as_bytes()].concat().into()
}
