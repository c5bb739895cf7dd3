//! Phases of a write: the list that every write passes in order, and the time that each took.
//!
//! Invariants: a write runs its phases in the order of [`PHASES`], and leaves out only those that
//! have nothing to do for its operation; an attempt that lost a race runs them again. Every phase
//! may run in a dry run: none but the last has an effect outside of the request.
//!
//! Not here: what the phases do (`pipeline`).

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use quorate_trace::{in_span, measure};
use tokio::time::Instant;

/// A phase of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Identity and managed fields.
    Prepare,
    /// Mutating admission.
    Mutate,
    /// What the kind and the server set: defaults, fields of disabled features, times.
    Default,
    /// The kind's rules, and the permissions that the write needs.
    Validate,
    /// Addresses and ports that only one object may have.
    Allocate,
    /// Validating admission.
    Admit,
    /// Quotas.
    Quota,
    /// The transaction.
    Commit,
}

/// The effects that a phase has outside of the request, as webhooks name theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffects {
    /// None.
    None,
    /// Some, but none in a dry run.
    NoneOnDryRun,
}

/// The phases in order, the name of each, and its side effects.
pub const PHASES: [(Phase, &str, SideEffects); 8] = [
    (Phase::Prepare, "prepare", SideEffects::None),
    (Phase::Mutate, "mutate", SideEffects::None),
    (Phase::Default, "default", SideEffects::None),
    (Phase::Validate, "validate", SideEffects::None),
    (Phase::Allocate, "allocate", SideEffects::None),
    (Phase::Admit, "admit", SideEffects::None),
    (Phase::Quota, "quota", SideEffects::None),
    (Phase::Commit, "commit", SideEffects::NoneOnDryRun),
];

impl Phase {
    /// The name in spans, metrics and `Server-Timing`.
    #[must_use]
    pub fn name(self) -> &'static str {
        PHASES[self as usize].1
    }
}

/// The time that each phase of one write took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTimes([Duration; PHASES.len()]);

impl PhaseTimes {
    /// The time of one phase; zero where it did not run.
    #[must_use]
    pub fn of(&self, phase: Phase) -> Duration {
        self.0[phase as usize]
    }

    /// Each phase that took time, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, Duration)> + '_ {
        PHASES
            .iter()
            .map(|(phase, ..)| (*phase, self.of(*phase)))
            .filter(|(_, time)| !time.is_zero())
    }
}

/// Times and traces the phases of one write: one reading of the clock at the end of each.
#[derive(Debug)]
pub(super) struct PhaseClock {
    times: PhaseTimes,
    last: Instant,
}

impl PhaseClock {
    pub(super) fn start() -> Self {
        Self { times: PhaseTimes::default(), last: Instant::now() }
    }

    pub(super) fn times(&self) -> PhaseTimes {
        self.times
    }

    /// Leaves out the time since the last phase: the pause before an attempt belongs to none.
    pub(super) fn skip(&mut self) {
        self.last = Instant::now();
    }

    /// Runs an asynchronous phase. It is pinned by the caller, so that its future has one place.
    pub(super) async fn run<F: Future>(&mut self, phase: Phase, work: Pin<&mut F>) -> F::Output {
        let done = in_span(phase.name(), work).await;
        self.end(phase);
        done
    }

    /// Runs a synchronous phase.
    pub(super) fn measure<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let done = measure(phase.name(), work);
        self.end(phase);
        done
    }

    fn end(&mut self, phase: Phase) {
        let now = Instant::now();
        self.times.0[phase as usize] += now.duration_since(self.last);
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn the_list_is_in_order() {
        for (index, (phase, name, _)) in PHASES.into_iter().enumerate() {
            assert_eq!((phase as usize, phase.name()), (index, name));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn phases_are_timed_over_all_attempts() {
        let sleep = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
        let mut clock = PhaseClock::start();
        clock.run(Phase::Mutate, pin!(sleep(2))).await;
        clock.measure(Phase::Default, || ());
        clock.run(Phase::Commit, pin!(sleep(3))).await;
        sleep(100).await;
        clock.skip();
        clock.run(Phase::Mutate, pin!(sleep(5))).await;
        let times: Vec<_> =
            clock.times().iter().map(|(phase, time)| (phase.name(), time.as_secs())).collect();
        assert_eq!(times, [("mutate", 7), ("commit", 3)]);
        assert_eq!(clock.times().of(Phase::Validate), Duration::ZERO);
    }
}
