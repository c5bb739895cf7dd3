//! The cache of tokens whose signature has been verified, by their hash.
//!
//! Invariants: it holds at most [`MAX_TOKENS`], each for at most [`MAX_AGE_MS`] since its
//! verification, and only while the keys are the same. A cached token is not a valid one: expiry
//! and bound objects are checked every time.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};

use super::claims::Claims;
use crate::authentication::User;
use crate::authentication::token::bound_object::BoundObject;

/// Tokens that are cached at one time.
const MAX_TOKENS: usize = 20_000;
/// How long a signature counts as verified, milliseconds.
const MAX_AGE_MS: u64 = 10 * 60 * 1000;

/// A token's SHA-256.
pub(in crate::authentication) type TokenHash = [u8; 32];

/// A verified token.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) claims: Claims,
    pub(super) user: Arc<User>,
    pub(super) account: BoundObject,
    pub(super) bound: Option<BoundObject>,
    /// Which keys it was verified with.
    pub(super) keys: u64,
    pub(super) verified_ms: u64,
}

/// Two generations: a token that is looked up moves to the young one, and when that is full, the
/// old one is dropped.
#[derive(Debug, Default)]
pub(super) struct Cache {
    generations: Mutex<TokenGenerations>,
}

#[derive(Debug, Default)]
struct TokenGenerations {
    young: HashMap<TokenHash, Arc<Verified>>,
    old: HashMap<TokenHash, Arc<Verified>>,
}

impl Cache {
    /// A token that was verified with these keys, not too long ago.
    pub(super) fn get(&self, hash: &TokenHash, keys: u64, now_ms: u64) -> Option<Arc<Verified>> {
        let mut generations = self.generations.lock();
        let found = match generations.young.get(hash) {
            Some(found) => found.clone(),
            None => {
                let found = generations.old.remove(hash)?;
                generations.insert(*hash, found.clone());
                found
            }
        };
        (found.keys == keys && now_ms.saturating_sub(found.verified_ms) <= MAX_AGE_MS)
            .then_some(found)
    }

    pub(super) fn insert(&self, hash: TokenHash, verified: Arc<Verified>) {
        self.generations.lock().insert(hash, verified);
    }
}

impl TokenGenerations {
    fn insert(&mut self, hash: TokenHash, verified: Arc<Verified>) {
        if self.young.len() >= MAX_TOKENS / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash, verified);
    }
}

pub(in crate::authentication) fn hash(token: &[u8]) -> TokenHash {
    digest(&SHA256, token).as_ref().try_into().expect("a SHA-256 digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::token::bound_object::BoundObjectKind;
    use crate::authentication::token::claims::ObjectIdentity;

    fn verified(keys: u64, verified_ms: u64) -> Arc<Verified> {
        let account = ObjectIdentity { name: "a".into(), uid: "u".into() };
        let claims = Claims {
            issuer: String::new(),
            audiences: Vec::new(),
            expires: None,
            not_before: 0,
            issued: 0,
            id: String::new(),
            namespace: "n".into(),
            account: account.clone(),
            bound: None,
        };
        let account = BoundObject::new(BoundObjectKind::Account, "n", &account);
        Arc::new(Verified { claims, user: Arc::default(), account, bound: None, keys, verified_ms })
    }

    #[test]
    fn bounded_in_age_and_by_keys() {
        let cache = Cache::default();
        let one = hash(b"one");
        cache.insert(one, verified(1, 1000));
        let check = |hash: &TokenHash, keys: u64, now: u64, expect: bool| {
            assert_eq!(cache.get(hash, keys, now).is_some(), expect, "{keys} {now}");
        };
        check(&one, 1, 1000, true);
        check(&one, 1, 1000 + MAX_AGE_MS, true);
        check(&one, 1, 1001 + MAX_AGE_MS, false);
        check(&one, 2, 1000, false);
        check(&hash(b"two"), 1, 1000, false);
    }

    #[test]
    fn bounded_in_number_and_keeps_what_is_used() {
        let cache = Cache::default();
        let used = hash(b"used");
        cache.insert(used, verified(1, 0));
        for at in 0..3 * MAX_TOKENS {
            cache.insert(hash(&at.to_le_bytes()), verified(1, 0));
            if at % 1000 == 0 {
                assert!(cache.get(&used, 1, 0).is_some(), "{at}");
            }
        }
        let generations = cache.generations.lock();
        assert!(generations.young.len() + generations.old.len() <= MAX_TOKENS);
    }
}
