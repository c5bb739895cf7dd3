//! The common beat at which all busy watches of a node send their events.
//!
//! A write to a connection costs about as much as encoding and copying ten events, so what counts
//! is how many buffers all watches send, not one of them: a thousand watches of something that
//! changes fifty times a second cost more than one of something that changes ten thousand times.
//! Their buffers are counted, and the beat grows slower while they are many and faster again when
//! they are few.
//!
//! Invariant: the period is [`FASTEST`], doubled up to [`DOUBLINGS`] times while watches send many
//! buffers. Counts that are lost between threads change nothing but the moment at which it adapts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The shortest period.
const FASTEST: Duration = Duration::from_millis(10);
/// How often the period can be doubled; no event is held back for longer than that.
const DOUBLINGS: u32 = 3;
/// What buffers are counted over.
const WINDOW: Duration = Duration::from_millis(100);
/// Buffers in a window above which the period is doubled: about a tenth of one core's time.
const MANY: u32 = 1000;
/// Buffers in a window below which the period is halved.
const FEW: u32 = MANY / 4;

/// The common beat.
#[derive(Debug)]
pub(crate) struct Beat {
    start: Instant,
    /// The window that is counted, from the start on.
    window: AtomicU64,
    /// Buffers in it.
    sent: AtomicU32,
    doublings: AtomicU32,
}

impl Default for Beat {
    fn default() -> Self {
        Self::new(Instant::now())
    }
}

impl Beat {
    /// A beat that is counted from here.
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            window: AtomicU64::default(),
            sent: AtomicU32::default(),
            doublings: AtomicU32::default(),
        }
    }

    /// Counts a buffer. Gives the current period.
    pub(crate) fn sent(&self, now: Instant) -> Duration {
        let window = ((now - self.start).as_millis() / WINDOW.as_millis()) as u64;
        let before = self.window.load(Ordering::Relaxed);
        let turned = window > before
            && self
                .window
                .compare_exchange(before, window, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if turned {
            let sent = self.sent.swap(0, Ordering::Relaxed);
            self.adapt(sent, window - before);
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.period()
    }

    /// The first moment after `now` at which busy watches go on.
    pub(crate) fn next(&self, now: Instant) -> Instant {
        let period = self.period();
        let beats = (now - self.start).as_nanos() / period.as_nanos() + 1;
        self.start + period * u32::try_from(beats).unwrap_or(u32::MAX)
    }

    fn period(&self) -> Duration {
        FASTEST * (1 << self.doublings.load(Ordering::Relaxed))
    }

    /// So many buffers were sent in the first of these windows, and none in the others.
    fn adapt(&self, sent: u32, windows: u64) {
        let doublings = self.doublings.load(Ordering::Relaxed);
        let grown = match sent {
            ..FEW => doublings.saturating_sub(1),
            MANY.. => (doublings + 1).min(DOUBLINGS),
            _ => doublings,
        };
        let idle = u32::try_from(windows - 1).unwrap_or(u32::MAX);
        self.doublings.store(grown.saturating_sub(idle), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The period, in milliseconds, in each window, when these numbers of buffers are sent in them.
    fn periods(sent: &[u32]) -> Vec<u128> {
        let beat = Beat::default();
        let period = |(window, count): (usize, &u32)| {
            let now = beat.start + WINDOW * window as u32;
            (0..*count).map(|_| beat.sent(now)).last().map_or(0, |period| period.as_millis())
        };
        sent.iter().enumerate().map(period).collect()
    }

    #[test]
    fn the_period_follows_the_buffers_of_all_watches() {
        let check = |sent: &[u32], expect: &[u128]| assert_eq!(periods(sent), expect, "{sent:?}");
        check(&[999, 999, 999], &[10, 10, 10]);
        check(&[1000, 1000, 1000, 1000, 1000], &[10, 20, 40, 80, 80]);
        check(&[5000, 5000, 900, 250, 249, 1, 1], &[10, 20, 40, 40, 40, 20, 10]);
        check(&[5000, 5000, 5000, 5000, 0, 0, 1], &[10, 20, 40, 80, 0, 0, 20]);
        check(&[5000, 5000, 0, 0, 0, 0, 1], &[10, 20, 0, 0, 0, 0, 10]);
    }

    #[test]
    fn beats_are_multiples_of_the_period() {
        let beat = Beat::default();
        let check = |doublings: u32, now: u64, expect: u64| {
            beat.doublings.store(doublings, Ordering::Relaxed);
            assert_eq!(
                beat.next(beat.start + Duration::from_millis(now)) - beat.start,
                Duration::from_millis(expect)
            );
        };
        check(0, 0, 10);
        check(0, 19, 20);
        check(0, 20, 30);
        check(3, 20, 80);
        check(3, 160, 240);
    }
}
