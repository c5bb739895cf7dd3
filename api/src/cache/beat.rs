//! The moments at which busy watches go on, all together: the more of them there are, the further apart.
//!
//! Invariants: a period is a multiple of [`SHORTEST`] and no longer than [`LONGEST`]; watches of the same period go on at the same moments;
//! a watch counts as busy for as long as a [`LONGEST`] of time and the one after it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The period as long as few watches are busy.
pub(crate) const SHORTEST: Duration = Duration::from_millis(10);
/// The period when very many are: the longest that an event is held back.
const LONGEST: Duration = Duration::from_millis(100);
/// So many busy watches are few; so many more make the period longer by [`SHORTEST`].
const FEW: u32 = 25;

/// See the module.
#[derive(Debug)]
pub(crate) struct Beat {
    start: Instant,
    busy: Mutex<Busy>,
}

/// How many watches are busy.
#[derive(Debug, Default)]
struct Busy {
    /// The number of the [`LONGEST`] of time that is being counted.
    span: u64,
    watches: u32,
    /// In the one before.
    before: u32,
}

/// When a watch was counted last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted(Option<u64>);

impl Default for Beat {
    fn default() -> Self {
        Self { start: Instant::now(), busy: Mutex::default() }
    }
}

impl Beat {
    /// Counts a busy watch, and says how far apart its buffers should be.
    pub(crate) fn period(&self, now: Instant, counted: &mut Counted) -> Duration {
        let span = whole(now - self.start, LONGEST);
        let mut busy = self.busy.lock();
        if busy.span < span {
            let before = if busy.span + 1 == span { busy.watches } else { 0 };
            *busy = Busy { span, watches: 0, before };
        }
        if counted.0 != Some(span) {
            *counted = Counted(Some(span));
            busy.watches += 1;
        }
        (SHORTEST * busy.watches.max(busy.before).div_ceil(FEW)).min(LONGEST)
    }

    /// The first moment after this one at which watches of this period go on.
    pub(crate) fn next(&self, now: Instant, period: Duration) -> Instant {
        let periods = whole(now - self.start, period) + 1;
        self.start + period * u32::try_from(periods).unwrap_or(u32::MAX)
    }
}

/// How often one goes into the other.
fn whole(time: Duration, part: Duration) -> u64 {
    u64::try_from(time.as_nanos() / part.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The periods that so many busy watches have come to in three spans that follow each other, milliseconds.
    fn check(watches: usize, expect: [u64; 3]) {
        let beat = Beat::default();
        let mut counted = vec![Counted::default(); watches];
        for (span, expect) in (1..).zip(expect) {
            let now = beat.start + LONGEST * span;
            // Each is asked for several times, and counted once.
            for _ in 0..3 {
                let periods = counted.iter_mut().map(|watch| beat.period(now, watch));
                assert_eq!(periods.last().unwrap(), Duration::from_millis(expect), "{watches} in span {span}");
            }
        }
        // Whoever was busy long ago does not count.
        assert_eq!(beat.period(beat.start + LONGEST * 10, &mut Counted::default()), SHORTEST);
    }

    #[test]
    fn the_more_are_busy_the_longer_is_the_period() {
        check(1, [10, 10, 10]);
        check(25, [10, 10, 10]);
        check(26, [20, 20, 20]);
        check(100, [40, 40, 40]);
        check(1000, [100, 100, 100]);
    }

    #[test]
    fn those_of_the_span_before_count_from_the_first_moment_on() {
        let beat = Beat::default();
        let mut counted = [Counted::default(); 100];
        counted.iter_mut().for_each(|watch| _ = beat.period(beat.start, watch));
        assert_eq!(beat.period(beat.start + LONGEST, &mut counted[0]), SHORTEST * 4);
        assert_eq!(beat.period(beat.start + LONGEST * 2, &mut counted[0]), SHORTEST);
    }

    #[test]
    fn watches_of_the_same_period_go_on_together() {
        let beat = Beat::default();
        let at = |ms| beat.start + Duration::from_millis(ms);
        for (now, period, expect) in [(0, 10, 10), (9, 10, 10), (10, 10, 20), (41, 40, 80), (79, 40, 80), (80, 40, 120)]
        {
            assert_eq!(beat.next(at(now), Duration::from_millis(period)), at(expect));
        }
    }
}
