//! Latencies of one measurement.
//!
//! Invariant: recorded in microseconds with three significant digits, up to [`LONGEST`]; longer
//! ones count as that.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest latency that is told apart: 60 s.
const LONGEST: Duration = Duration::from_secs(60);

/// A histogram of latencies.
#[derive(Debug)]
pub(super) struct Latencies(Histogram<u64>);

/// What is reported of them, in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Percentiles {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Latencies {
    pub(super) fn new() -> Self {
        let longest = u64::try_from(LONGEST.as_micros()).expect("a minute fits");
        Self(Histogram::new_with_bounds(1, longest, 3).expect("the bounds are valid"))
    }

    pub(super) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both histograms have the same bounds");
    }

    pub(super) fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1000.0;
        Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: self.0.max() as f64 / 1000.0 }
    }
}
