//! How often a watch may write to its connection.
//!
//! A write costs about as much as encoding and copying ten events. So buffers go out at once as long as they are rare, and a watch of
//! something that changes all the time holds back for a moment and sends what has come until then together. All such watches go on at
//! the same moments, so that one wake-up serves them all.
//!
//! Invariant: a watch that was quiet may send [`AT_ONCE`] buffers without a pause, and from then on one each [`PERIOD`]; nothing is
//! held back for longer than that. This file keeps count and waits for nothing.

use std::time::Duration;

use tokio::time::Instant;

/// Between two buffers of a busy watch: the longest that an event is held back.
const PERIOD: Duration = Duration::from_millis(10);
/// Buffers that a watch which was quiet may send without a pause.
const AT_ONCE: u32 = 10;

/// One watch's allowance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The periods of all watches are counted from here.
    beat: Instant,
    /// When the buffers sent so far would be over, if each had taken a period.
    used_until: Instant,
}

impl Pace {
    /// Nothing was sent yet. `beat` lies in the past and is the same for all.
    pub(super) fn new(beat: Instant) -> Self {
        Self { beat, used_until: beat }
    }

    /// Notes a buffer. Gives when the next one may go, if that is not now.
    pub(super) fn sent(&mut self, now: Instant) -> Option<Instant> {
        let most = PERIOD * AT_ONCE;
        self.used_until = (self.used_until.max(now) + PERIOD).min(now + most);
        (self.used_until == now + most).then(|| self.next_beat(now))
    }

    fn next_beat(&self, now: Instant) -> Instant {
        let beats = (now - self.beat).as_nanos() / PERIOD.as_nanos() + 1;
        self.beat + PERIOD * u32::try_from(beats).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a buffer whenever that is allowed, events being there all the time. Gives when each went, in milliseconds.
    fn busy(pace: &mut Pace, start: Instant, count: usize) -> Vec<u128> {
        let mut now = start;
        let mut send = || {
            let at = (now - start).as_millis();
            now = pace.sent(now).unwrap_or(now);
            at
        };
        (0..count).map(|_| send()).collect()
    }

    #[test]
    fn a_burst_goes_at_once_and_a_flood_goes_with_the_beat() {
        let beat = Instant::now();
        let mut pace = Pace::new(beat);
        let start = beat + Duration::from_millis(1234);
        let flood = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 16, 26];
        assert_eq!(busy(&mut pace, start, 13), flood);
        assert_eq!(busy(&mut pace, start + Duration::from_secs(60), 13), flood);
    }

    #[test]
    fn what_is_rare_never_waits() {
        let beat = Instant::now();
        let mut pace = Pace::new(beat);
        assert!((0..1000).all(|turn| pace.sent(beat + PERIOD * turn).is_none()));
    }
}
