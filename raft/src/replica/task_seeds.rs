//! Seeds for Raft's tasks: every task of openraft draws its random numbers from a seed that is
//! given to the task that spawned it ([`Runtime`]), and the first seed comes from the entropy seam.
//!
//! Invariant: every call into openraft that may spawn a task runs inside [`TaskSeeds::scope`].

use std::sync::atomic::{AtomicU64, Ordering};

use quorate_env::Entropy;

use crate::types::Runtime;

/// The distance between seeds: odd, so that all 2^64 come before one returns.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// An endless sequence of seeds.
#[derive(Debug)]
pub(crate) struct TaskSeeds(AtomicU64);

impl TaskSeeds {
    /// Seeds whose start is random.
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 8];
        entropy.fill(&mut bytes);
        Self(AtomicU64::new(u64::from_le_bytes(bytes)))
    }

    /// Runs a future in which Raft's tasks may be spawned.
    pub(crate) async fn scope<F: Future>(&self, future: F) -> F::Output {
        Runtime::scope(self.0.fetch_add(STEP, Ordering::Relaxed), future).await
    }
}
