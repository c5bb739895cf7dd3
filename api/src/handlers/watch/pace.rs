//! The pace of a watch: how often it may write to its connection.
//!
//! Buffers go out at once as long as they are rare, and a watch of something that changes all the
//! time holds back for a moment and sends what has come until then together. All such watches go on
//! at the same moments, so that one wake-up serves them all: see [`Beat`].
//!
//! Invariant: a watch that was quiet may send [`AT_ONCE`] buffers without a pause, and from then on
//! one each period, until nothing comes for a whole one; nothing is held back for longer than that.
//! This file keeps count and waits for nothing.

use quorate_env::Entropy;
use tokio::time::Instant;

use crate::fanout::Beat;

/// Buffers that a watch which was quiet may send without a pause.
const AT_ONCE: u32 = 10;

/// One watch's allowance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// When the buffers sent so far would be over, if each had taken a period.
    used_until: Instant,
    /// The pause that was over last, until something is sent.
    resumed: Option<Instant>,
}

impl Pace {
    /// Nothing was sent yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { used_until: now, resumed: None }
    }

    /// Notes a buffer. Gives when the next one may go, if that is not now.
    pub(super) fn sent(&mut self, now: Instant, beat: &Beat) -> Option<Instant> {
        let period = beat.sent(now);
        let most = period * AT_ONCE;
        self.used_until = (self.used_until.max(now) + period).min(now + most);
        // Beats come late now and then, so the count alone would let a busy watch go between them.
        let busy = self.resumed.take().is_some_and(|resumed| now < resumed + period);
        (busy || self.used_until == now + most).then(|| beat.next(now))
    }

    /// Notes that a pause is over. However late that is, what comes within a period from now on
    /// shows that the watch is busy still.
    pub(super) fn resumed(&mut self, now: Instant) {
        self.resumed = Some(now);
    }
}

/// A number from `least` to `least + more`.
pub(super) fn spread(entropy: &dyn Entropy, least: u64, more: u64) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes);
    least + u64::from_le_bytes(bytes) % (more + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);

    /// Sends a buffer whenever that is allowed, events being there all the time and beats being
    /// late by these microseconds in turn. Gives when each went, in milliseconds.
    fn busy(pace: &mut Pace, beat: &Beat, start: Instant, late: &[u64], count: usize) -> Vec<u128> {
        let (mut now, mut late) = (start, late.iter().cycle());
        let mut send = || {
            let at = (now - start).as_millis();
            if let Some(until) = pace.sent(now, beat) {
                now = until + Duration::from_micros(*late.next().unwrap());
                pace.resumed(now);
            }
            at
        };
        (0..count).map(|_| send()).collect()
    }

    #[test]
    fn a_burst_goes_at_once_and_a_flood_goes_with_the_beat() {
        let begun = Instant::now();
        let (mut pace, beat) = (Pace::new(begun), Beat::new(begun));
        let start = begun + Duration::from_millis(1234);
        let flood = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 16, 26];
        assert_eq!(busy(&mut pace, &beat, start, &[0], 13), flood);
        assert_eq!(busy(&mut pace, &beat, start + Duration::from_secs(60), &[0], 13), flood);
    }

    #[test]
    fn a_flood_stays_on_the_beat_when_beats_are_late() {
        let check = |late: &[u64], expect: [u128; 6]| {
            let begun = Instant::now();
            let sent = busy(&mut Pace::new(begun), &Beat::new(begun), begun, late, 16);
            let beats: Vec<_> = sent.iter().map(|ms| ms / PERIOD.as_millis()).collect();
            assert_eq!(beats[..10], [0; 10], "{late:?}");
            assert_eq!(beats[10..], expect, "{late:?}");
        };
        let each = [1, 2, 3, 4, 5, 6];
        check(&[0], each);
        check(&[100], each);
        check(&[1000], each);
        check(&[4000], each);
        check(&[100, 4000, 0, 1000], each);
        check(&[0, 100, 0, 9999], each);
        check(&[25_000], [3, 6, 9, 12, 15, 18]);
    }

    #[test]
    fn a_beat_that_finds_nothing_ends_the_flood() {
        let check = |idle_ms: u64, expect: Option<u64>| {
            let begun = Instant::now();
            let (mut pace, beat) = (Pace::new(begun), Beat::new(begun));
            // Ten at once and five with the beat, so the watch goes on at 60 ms.
            busy(&mut pace, &beat, begun, &[0], 15);
            let next = pace.sent(begun + Duration::from_millis(60 + idle_ms), &beat);
            assert_eq!(next, expect.map(|ms| begun + Duration::from_millis(ms)), "{idle_ms}");
        };
        check(0, Some(70));
        check(9, Some(70));
        check(10, None);
        check(1000, None);
    }

    #[test]
    fn what_is_rare_never_waits() {
        let begun = Instant::now();
        let (mut pace, beat) = (Pace::new(begun), Beat::new(begun));
        assert!((0..1000).all(|turn| pace.sent(begun + PERIOD * turn, &beat).is_none()));
    }
}
