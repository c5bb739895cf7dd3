//! Counts of values by their size.

use std::fmt;
use std::marker::PhantomData;

use crate::PercentileStats;

/// Decimal digits to which a value is kept: a tenth.
const DIGITS: u8 = 1;

/// Counts of values by their size, to about a tenth of it. `T` is what a period is marked with, which
/// openraft does not use.
#[derive(Clone, PartialEq)]
pub struct Histogram<T = ()> {
    counts: hdrhistogram::Histogram<u64>,
    mark: PhantomData<T>,
}

impl<T> Histogram<T> {
    /// Of no value.
    ///
    /// # Panics
    /// Never: the number of digits is one that is allowed.
    #[must_use]
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new(DIGITS).expect("so many digits are allowed");
        Self { counts, mark: PhantomData }
    }

    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts a value so many times.
    pub fn record_n(&mut self, value: u64, count: u64) {
        let counted = self.counts.record_n(value, count);
        debug_assert!(counted.is_ok(), "the counts grow with the value");
    }

    /// How the values are distributed.
    #[must_use]
    pub fn percentile_stats(&self) -> PercentileStats {
        let value = |percentile| self.counts.value_at_percentile(percentile);
        PercentileStats {
            samples: self.counts.len(),
            p0_1: value(0.1),
            p1: value(1.0),
            p5: value(5.0),
            p10: value(10.0),
            p50: value(50.0),
            p90: value(90.0),
            p99: value(99.0),
            p99_9: value(99.9),
        }
    }
}

impl<T: PartialEq> Eq for Histogram<T> {}

impl<T> Default for Histogram<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Histogram<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Histogram").field(&self.percentile_stats()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That a percentile is known to a tenth.
    fn check(values: impl Iterator<Item = u64>, [p1, p50, p99]: [u64; 3]) {
        let mut histogram = Histogram::<()>::new();
        values.for_each(|value| histogram.record(value));
        let found = histogram.percentile_stats();
        for (found, expect) in [(found.p1, p1), (found.p50, p50), (found.p99, p99)] {
            assert!(found.abs_diff(expect) <= expect / 10, "{found} for {expect}");
        }
    }

    #[test]
    fn percentiles_are_known_to_a_tenth() {
        check(std::iter::empty(), [0, 0, 0]);
        check(std::iter::once(7), [7, 7, 7]);
        check(0..=1000, [10, 500, 990]);
        check((0..=1000).map(|value| value * 1_000_000), [10_000_000, 500_000_000, 990_000_000]);
    }

    #[test]
    fn no_value_is_too_large() {
        let mut histogram = Histogram::<()>::new();
        histogram.record(u64::MAX);
        histogram.record_n(1, 2);
        assert_eq!(histogram.percentile_stats().samples, 3);
    }
}
