//! The cache of a webhook's decisions, by the hash of their review.
//!
//! Invariants: it holds at most [`MAX_DECISIONS`]; none is used that is older than its TTL, nor,
//! after the clock was set back, one from the future.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};

use crate::authorization::Decision;

/// Decisions that are cached at one time.
const MAX_DECISIONS: usize = 8192;

/// The SHA-256 of a review.
pub(super) type ReviewHash = [u8; 32];

/// Two generations: a decision that is used again moves to the young one, and when that is full,
/// the old one is dropped.
#[derive(Debug, Default)]
pub(super) struct DecisionCache {
    generations: Mutex<DecisionGenerations>,
}

#[derive(Debug, Default)]
struct DecisionGenerations {
    young: HashMap<ReviewHash, CachedDecision>,
    old: HashMap<ReviewHash, CachedDecision>,
}

#[derive(Debug, Clone)]
struct CachedDecision {
    decision: Decision,
    given_ms: u64,
    ttl_ms: u64,
}

impl DecisionCache {
    /// The decision, if it is not too old.
    pub(super) fn get(&self, key: &ReviewHash, now_ms: u64) -> Option<Decision> {
        let mut generations = self.generations.lock();
        let found = match generations.young.get(key) {
            Some(found) => found.clone(),
            None => {
                let found = generations.old.remove(key)?;
                generations.insert(*key, found.clone());
                found
            }
        };
        let age = now_ms.checked_sub(found.given_ms)?;
        (age < found.ttl_ms).then_some(found.decision)
    }

    pub(super) fn insert(&self, key: ReviewHash, decision: Decision, given_ms: u64, ttl: Duration) {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        self.generations.lock().insert(key, CachedDecision { decision, given_ms, ttl_ms });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let generations = self.generations.lock();
        generations.young.len() + generations.old.len()
    }
}

impl DecisionGenerations {
    fn insert(&mut self, key: ReviewHash, answer: CachedDecision) {
        if self.young.len() >= MAX_DECISIONS / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, answer);
    }
}

pub(super) fn hash(review: &[u8]) -> ReviewHash {
    digest(&SHA256, review).as_ref().try_into().expect("a SHA-256 digest has 32 bytes")
}
