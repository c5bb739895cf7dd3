//! Sampling: which requests are traced as they run, decided when they begin.
//!
//! A request is sampled at a rate, or because its client says that it records the trace. The client
//! is not trusted: of requests that are sampled for its sake there are at most
//! [`MAX_PARENT_SAMPLED`] in a second, and the rate decides about those beyond; the ids of the client
//! have no say in that. A request of a trace that its client does not record is not sampled.
//!
//! Not here: requests that have been slow or have failed, which are traced afterwards.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::context::TraceContext;

/// Requests in a second that are sampled because their clients ask for that.
pub const MAX_PARENT_SAMPLED: u32 = 100;
/// The rate at which every request is sampled.
const ALL: u32 = 1_000_000;

/// Whether what a client says of its trace counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentSampling {
    /// It counts, within the bound.
    Honoured,
    /// The rate alone decides.
    Ignored,
}

/// How requests are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplerOptions {
    /// Of a million requests without a parent so many are sampled.
    pub per_million: u32,
    /// Those with a parent.
    pub parents: ParentSampling,
    /// A request that takes so long is traced although it was not sampled.
    pub slow: Duration,
}

impl Default for SamplerOptions {
    fn default() -> Self {
        let slow = Duration::from_millis(500);
        Self { per_million: 0, parents: ParentSampling::Honoured, slow }
    }
}

/// The decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Its spans are not recorded.
    No,
    /// It is one of those that the rate has chosen.
    ByRate,
    /// Its client records the trace.
    ByParent,
}

/// Decides which requests are sampled.
#[derive(Debug)]
pub struct Sampler {
    options: SamplerOptions,
    of_parents: Mutex<Window>,
}

/// Requests of the current second that were sampled for the sake of their clients.
#[derive(Debug, Default)]
struct Window {
    begin: Option<Instant>,
    taken: u32,
}

impl Sampler {
    /// A sampler that has sampled nothing yet.
    #[must_use]
    pub fn new(options: SamplerOptions) -> Self {
        Self { options, of_parents: Mutex::default() }
    }

    /// From when on a request counts as slow.
    #[must_use]
    pub fn slow(&self) -> Duration {
        self.options.slow
    }

    /// The decision about a request with this parent, for which this random number was drawn.
    #[must_use]
    pub fn decide(&self, parent: Option<&TraceContext>, random: u64) -> Sampling {
        if let (ParentSampling::Honoured, Some(parent)) = (self.options.parents, parent) {
            if !parent.is_sampled {
                return Sampling::No;
            }
            if self.of_parents.lock().take(Instant::now()) {
                return Sampling::ByParent;
            }
        }
        let is_chosen = random % u64::from(ALL) < u64::from(self.options.per_million);
        if is_chosen { Sampling::ByRate } else { Sampling::No }
    }
}

impl Sampler {
    /// A request that was sampled for the sake of its client does not count.
    pub(crate) fn give_back(&self) {
        let mut window = self.of_parents.lock();
        window.taken = window.taken.saturating_sub(1);
    }
}

impl Window {
    fn take(&mut self, now: Instant) -> bool {
        let is_over = self.begin.is_none_or(|begin| now - begin >= Duration::from_secs(1));
        if is_over {
            *self = Self { begin: Some(now), taken: 0 };
        }
        let is_free = self.taken < MAX_PARENT_SAMPLED;
        self.taken += u32::from(is_free);
        is_free
    }
}
