//! How often a watch may write to its connection.
//!
//! A write costs about as much as encoding and copying ten events. So buffers go out at once as long as they are rare, and a watch of
//! something that changes all the time holds back for a moment and sends what has come until then together. All such watches go on at
//! the same moments, so that one wake-up serves them all, and the more of them there are, the longer they hold back: what all of them
//! write is bounded.
//!
//! Invariant: a watch that was quiet may send [`AT_ONCE`] buffers without a pause, and from then on one each period; nothing is
//! held back for longer than a period. This file keeps count and waits for nothing.

use std::time::Duration;

use tokio::time::Instant;

use crate::cache::{Beat, Counted, SHORTEST_BEAT};

/// Buffers that a watch which was quiet may send without a pause.
const AT_ONCE: u32 = 10;

/// One watch's allowance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// What one buffer takes.
    period: Duration,
    /// When the buffers sent so far would be over, if each had taken a period.
    used_until: Instant,
    counted: Counted,
}

impl Pace {
    /// Nothing was sent yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { period: SHORTEST_BEAT, used_until: now, counted: Counted::default() }
    }

    /// Notes a buffer. Gives when the next one may go, if that is not now.
    pub(super) fn sent(&mut self, beat: &Beat, now: Instant) -> Option<Instant> {
        if self.used_until <= now {
            *self = Self { counted: self.counted, ..Self::new(now) };
        }
        self.used_until += self.period;
        if self.used_until < now + self.period * AT_ONCE {
            return None;
        }
        self.period = beat.period(now, &mut self.counted);
        self.used_until = now + self.period * AT_ONCE;
        Some(beat.next(now, self.period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a buffer whenever that is allowed, events being there all the time. Gives when each went, in milliseconds.
    fn busy(pace: &mut Pace, beat: &Beat, start: Instant, count: usize) -> Vec<u128> {
        let mut now = start;
        let mut send = || {
            let at = (now - start).as_millis();
            now = pace.sent(beat, now).unwrap_or(now);
            at
        };
        (0..count).map(|_| send()).collect()
    }

    #[test]
    fn a_burst_goes_at_once_and_a_flood_goes_with_the_beat() {
        let beat = Beat::default();
        let start = beat.next(Instant::now(), SHORTEST_BEAT) + Duration::from_millis(1234);
        let mut pace = Pace::new(start);
        let flood = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 16, 26];
        assert_eq!(busy(&mut pace, &beat, start, 13), flood);
        assert_eq!(busy(&mut pace, &beat, start + Duration::from_secs(60), 13), flood);
    }

    #[test]
    fn of_many_floods_each_goes_less_often() {
        let beat = Beat::default();
        let start = beat.next(Instant::now(), Duration::from_millis(400));
        let mut others = [Pace::new(start); 99];
        // Busy all the time, the others are asked once in each tenth of a second.
        let mut flood_of_others = |now| others.iter_mut().for_each(|pace| while pace.sent(&beat, now).is_none() {});
        flood_of_others(start);
        let mut pace = Pace::new(start);
        assert_eq!(busy(&mut pace, &beat, start, 13), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 80, 120]);
        flood_of_others(start + Duration::from_millis(160));
        assert_eq!(busy(&mut pace, &beat, start + Duration::from_millis(160), 4), [0, 40, 80, 120]);
    }

    #[test]
    fn what_is_rare_never_waits() {
        let beat = Beat::default();
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert!((0..1000).all(|turn| pace.sent(&beat, now + SHORTEST_BEAT * turn).is_none()));
    }
}
