//! Circuit breakers: a webhook that keeps failing is not called for a while.
//!
//! A breaker opens after [`FAILURES`] failed calls in a row. While it is open, the webhook's failure
//! policy decides at once, as after a call that has failed. When the pause is over, one write probes
//! the webhook: it closes the breaker, or begins another pause, twice as long up to [`MAX_PAUSE`].
//!
//! Invariants: a breaker never changes what the failure policy means; at most one probe is under way;
//! one that is given up counts as none.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Failed calls in a row that open a breaker.
const FAILURES: u32 = 20;
/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The breaker of one webhook.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    last_failure: String,
    pause: Option<Pause>,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    takes: Duration,
    is_probed: bool,
}

/// The permission to call a webhook once. One that is dropped without a result, because its request
/// has ended, says nothing of the webhook.
#[derive(Debug)]
pub(super) struct CallPermit<'b> {
    breaker: &'b Breaker,
    is_probe: bool,
}

/// What a result has done to the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Opened,
    Closed,
}

impl Breaker {
    /// Asks for a call.
    ///
    /// # Errors
    /// Why the webhook is not called, when the breaker is open.
    pub(super) fn ask(&self, now: Instant) -> Result<CallPermit<'_>, String> {
        let mut state = self.0.lock();
        let State { failures, last_failure, pause } = &mut *state;
        let Some(pause) = pause else {
            return Ok(CallPermit { breaker: self, is_probe: false });
        };
        if now < pause.until || pause.is_probed {
            let rest = pause.until.saturating_duration_since(now).as_secs() + 1;
            return Err(format!(
                "not called, its circuit breaker is open for the next {rest}s after {failures} \
                 failed calls in a row, the last: {last_failure}"
            ));
        }
        pause.is_probed = true;
        Ok(CallPermit { breaker: self, is_probe: true })
    }

    /// The last failure, and the failed calls in a row; `None` while the breaker is closed.
    pub(super) fn opened_by(&self) -> Option<(u32, String)> {
        let state = self.0.lock();
        state.pause.map(|_| (state.failures, state.last_failure.clone()))
    }
}

impl CallPermit<'_> {
    /// The webhook has answered.
    pub(super) fn answered(self) -> Change {
        let was_open = std::mem::take(&mut *self.breaker.0.lock()).pause.is_some();
        if was_open { Change::Closed } else { Change::None }
    }

    /// The call has failed.
    pub(super) fn failed(self, why: &str, now: Instant) -> Change {
        let mut state = self.breaker.0.lock();
        state.failures = state.failures.saturating_add(1);
        why.clone_into(&mut state.last_failure);
        let had = state.pause.map(|pause| pause.takes);
        match had {
            Some(_) if !self.is_probe => return Change::None,
            None if state.failures < FAILURES => return Change::None,
            _ => {}
        }
        let takes = had.map_or(FIRST_PAUSE, |had| MAX_PAUSE.min(had * 2));
        state.pause = Some(Pause { until: now + takes, takes, is_probed: false });
        if had.is_none() { Change::Opened } else { Change::None }
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        if self.is_probe
            && let Some(pause) = &mut self.breaker.0.lock().pause
        {
            pause.is_probed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &Breaker, now: Instant) -> Change {
        breaker.ask(now).unwrap().failed("EOF", now)
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_of_failures_opens_it_and_a_probe_closes_it() {
        let (breaker, mut now) = (Breaker::default(), Instant::now());
        for _ in 1..FAILURES {
            assert_eq!(fail(&breaker, now), Change::None);
        }
        assert_eq!(breaker.ask(now).unwrap().answered(), Change::None);
        for _ in 1..FAILURES {
            assert_eq!(fail(&breaker, now), Change::None);
        }
        assert_eq!(fail(&breaker, now), Change::Opened);
        let why = breaker.ask(now).unwrap_err();
        assert!(why.contains("breaker is open for the next 3s after 20 failed calls"), "{why}");
        assert!(why.ends_with("the last: EOF"), "{why}");
        now += FIRST_PAUSE;
        let probe = breaker.ask(now).unwrap();
        assert!(breaker.ask(now).is_err(), "one probe at a time");
        drop(probe);
        assert_eq!(fail(&breaker, now), Change::None);
        assert!(breaker.ask(now + FIRST_PAUSE).is_err(), "the second pause is longer");
        now += FIRST_PAUSE * 2;
        assert_eq!(breaker.ask(now).unwrap().answered(), Change::Closed);
        assert_eq!(breaker.ask(now).unwrap().answered(), Change::None);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_from_before_it_opened_end_no_pause() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        let late: Vec<_> = (0..3).map(|_| breaker.ask(now).unwrap()).collect();
        for _ in 0..FAILURES {
            fail(&breaker, now);
        }
        for permit in late {
            assert_eq!(permit.failed("late", now + FIRST_PAUSE), Change::None);
        }
        assert!(breaker.ask(now).is_err());
        assert!(breaker.ask(now + FIRST_PAUSE).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_have_a_limit() {
        let (breaker, mut now) = (Breaker::default(), Instant::now());
        for _ in 0..FAILURES {
            fail(&breaker, now);
        }
        for _ in 0..20 {
            now += MAX_PAUSE;
            fail(&breaker, now);
        }
        assert!(breaker.ask(now + MAX_PAUSE).is_ok());
    }
}
