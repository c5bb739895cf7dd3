//! The handles by which the parts of the server count.
//!
//! Invariant: a handle's number of labels is that of its row, so a count never names too few.

use std::sync::Arc;
use std::time::Duration;

use super::shared_histogram::HistogramPair;
use super::{CounterState, Family, GaugeState, HistogramState};

/// A counter with `N` labels.
#[derive(Debug, Clone)]
pub struct Counter<const N: usize>(pub(crate) Option<Arc<Family<CounterState>>>);

/// One series of a counter.
#[derive(Debug, Clone)]
pub struct CounterSeries(Option<Arc<CounterState>>);

/// A gauge with `N` labels.
#[derive(Debug, Clone)]
pub struct Gauge<const N: usize>(pub(crate) Option<Arc<Family<GaugeState>>>);

/// One series of a gauge.
#[derive(Debug, Clone)]
pub struct GaugeSeries(Option<Arc<GaugeState>>);

/// A histogram with `N` labels.
#[derive(Debug, Clone)]
pub struct Histogram<const N: usize>(pub(crate) Option<Arc<Family<HistogramState>>>);

/// One series of a histogram.
#[derive(Debug, Clone)]
pub struct HistogramSeries(Option<Arc<HistogramState>>);

/// Two series of histograms for which the same values are counted, at the cost of one.
#[derive(Debug, Clone)]
pub struct PairedSeries(Paired);

#[derive(Debug, Clone)]
enum Paired {
    Both(HistogramPair),
    /// One of them, or both, is not exposed.
    Single(HistogramSeries),
}

impl<const N: usize> Counter<N> {
    /// Counts one.
    pub fn inc(&self, labels: [&str; N]) {
        self.add(labels, 1);
    }

    /// Counts some.
    pub fn add(&self, labels: [&str; N], count: u64) {
        if let Some(family) = &self.0 {
            family.series(&labels).add(count);
        }
    }

    /// The series of these labels, for a part that counts it often.
    #[must_use]
    pub fn with(&self, labels: [&str; N]) -> CounterSeries {
        CounterSeries(self.0.as_ref().map(|family| family.series(&labels).clone()))
    }
}

impl CounterSeries {
    /// Counts one.
    pub fn inc(&self) {
        self.add(1);
    }

    /// Counts some.
    pub fn add(&self, count: u64) {
        if let Some(series) = &self.0 {
            series.add(count);
        }
    }
}

impl<const N: usize> Gauge<N> {
    /// Says the value.
    pub fn set(&self, labels: [&str; N], value: f64) {
        if let Some(family) = &self.0 {
            family.series(&labels).set(value);
        }
    }

    /// The series of these labels, for a part that changes it often.
    #[must_use]
    pub fn with(&self, labels: [&str; N]) -> GaugeSeries {
        GaugeSeries(self.0.as_ref().map(|family| family.series(&labels).clone()))
    }
}

impl GaugeSeries {
    /// Says the value.
    pub fn set(&self, value: f64) {
        if let Some(series) = &self.0 {
            series.set(value);
        }
    }

    /// Changes the value by so much.
    pub fn add(&self, change: f64) {
        if let Some(series) = &self.0 {
            series.add(change);
        }
    }
}

impl<const N: usize> Histogram<N> {
    /// Whether what is observed is kept: a metric that is not exposed is not worth a measurement.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.0.is_some()
    }

    /// Counts a value.
    pub fn observe(&self, labels: [&str; N], value: f64) {
        if let Some(family) = &self.0 {
            family.series(&labels).observe(value);
        }
    }

    /// Counts a time, in seconds.
    pub fn observe_duration(&self, labels: [&str; N], took: Duration) {
        self.observe(labels, took.as_secs_f64());
    }

    /// The series of these labels, for a part that counts it often.
    #[must_use]
    pub fn with(&self, labels: [&str; N]) -> HistogramSeries {
        HistogramSeries(self.0.as_ref().map(|family| family.series(&labels).clone()))
    }
}

impl PairedSeries {
    /// Counts a time, in seconds.
    pub fn observe_duration(&self, took: Duration) {
        match &self.0 {
            Paired::Both(pair) => pair.observe(took.as_secs_f64()),
            Paired::Single(series) => series.observe_duration(took),
        }
    }
}

impl HistogramSeries {
    /// This and another series as one, for values that are counted for both.
    #[must_use]
    pub fn paired_with(&self, other: &Self) -> PairedSeries {
        PairedSeries(match (&self.0, &other.0) {
            (Some(first), Some(second)) => {
                Paired::Both(HistogramPair::new([first.clone(), second.clone()]))
            }
            (first, second) => Paired::Single(Self(first.as_ref().or(second.as_ref()).cloned())),
        })
    }

    /// Counts a value.
    pub fn observe(&self, value: f64) {
        if let Some(series) = &self.0 {
            series.observe(value);
        }
    }

    /// Counts a time, in seconds.
    pub fn observe_duration(&self, took: Duration) {
        if let Some(series) = &self.0 {
            series.observe_duration(took);
        }
    }
}
