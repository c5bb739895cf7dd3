//! How many tokens of each sort were used, and how many were found in the cache.

use std::sync::atomic::{AtomicU64, Ordering};

/// What counts the tokens that are used.
#[derive(Debug, Default)]
pub struct TokenCounts {
    valid: AtomicU64,
    of_secrets: AtomicU64,
    of_invalid_secrets: AtomicU64,
    hits: AtomicU64,
    verified: AtomicU64,
    failed: AtomicU64,
}

/// What becomes of a token, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// A token with an end was accepted.
    Valid,
    /// The token that a Secret holds was accepted.
    OfSecret,
    /// The Secret that holds it is marked as invalid.
    OfInvalidSecret,
    /// Its signature was verified before.
    Hit,
    /// Its signature was verified.
    Verified,
    /// It could not be verified.
    Failed,
}

impl TokenCounts {
    /// How often this has happened.
    #[must_use]
    pub fn of(&self, token_use: TokenUse) -> u64 {
        self.counter(token_use).load(Ordering::Relaxed)
    }

    pub(super) fn count(&self, token_use: TokenUse) {
        self.counter(token_use).fetch_add(1, Ordering::Relaxed);
    }

    fn counter(&self, token_use: TokenUse) -> &AtomicU64 {
        match token_use {
            TokenUse::Valid => &self.valid,
            TokenUse::OfSecret => &self.of_secrets,
            TokenUse::OfInvalidSecret => &self.of_invalid_secrets,
            TokenUse::Hit => &self.hits,
            TokenUse::Verified => &self.verified,
            TokenUse::Failed => &self.failed,
        }
    }
}
