//! What a series of each type holds.
//!
//! Invariants: a counter that is reset goes on counting for those who read it since the start; an
//! observation that is no number is left out, or a sum would be none for ever.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::cells::{Cells, add_f64};
use crate::samples::{HistogramExport, SampleValue, Since};
use crate::table::MetricRow;

/// The state of one series.
pub(crate) trait SeriesState {
    /// A series of these labels that has counted nothing.
    fn new(row: &MetricRow, labels: &[&str], export: Option<&dyn HistogramExport>) -> Self;
    /// What it has counted; `None` where there is nothing to tell.
    fn value(&self, row: &MetricRow, since: Since) -> Option<SampleValue>;
    /// Forgets it.
    fn reset(&self);
}

/// A series of a counter.
#[derive(Debug)]
pub(crate) struct CounterState {
    cells: Cells,
    /// The value at the last reset.
    base: AtomicU64,
}

/// A series of a gauge.
#[derive(Debug)]
pub(crate) struct GaugeState(AtomicU64);

/// A series of a histogram.
pub(crate) struct HistogramState {
    /// The sum, then the count of each bucket, the one without a bound last.
    cells: Cells,
    bounds: Box<[f64]>,
    export: Option<Box<dyn Fn(f64) + Send + Sync>>,
}

impl CounterState {
    pub(super) fn add(&self, count: u64) {
        self.cells.own()[0].fetch_add(count, Ordering::Relaxed);
    }
}

impl GaugeState {
    pub(super) fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn add(&self, value: f64) {
        add_f64(&self.0, value);
    }
}

impl HistogramState {
    pub(super) fn observe(&self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        let cells = self.cells.own();
        cells[1 + bucket].fetch_add(1, Ordering::Relaxed);
        add_f64(&cells[0], value);
        if let Some(export) = &self.export {
            export(value);
        }
    }

    pub(super) fn observe_duration(&self, took: Duration) {
        self.observe(took.as_secs_f64());
    }
}

impl SeriesState for CounterState {
    fn new(_: &MetricRow, _: &[&str], _: Option<&dyn HistogramExport>) -> Self {
        Self { cells: Cells::new(1), base: AtomicU64::new(0) }
    }

    fn value(&self, row: &MetricRow, since: Since) -> Option<SampleValue> {
        let total = self.cells.sum(0);
        let base = match since {
            Since::Reset => self.base.load(Ordering::Relaxed),
            Since::Start => 0,
        };
        // After a reset a series with labels is there again when it counts something.
        let is_told = row.labels.is_empty() || base == 0 || total > base;
        is_told.then(|| SampleValue::of_count(total.saturating_sub(base)))
    }

    fn reset(&self) {
        self.base.store(self.cells.sum(0), Ordering::Relaxed);
    }
}

impl SeriesState for GaugeState {
    fn new(_: &MetricRow, _: &[&str], _: Option<&dyn HistogramExport>) -> Self {
        Self(AtomicU64::new(0))
    }

    fn value(&self, _: &MetricRow, _: Since) -> Option<SampleValue> {
        Some(SampleValue::Number(f64::from_bits(self.0.load(Ordering::Relaxed))))
    }

    /// What goes up and down says how things are, which a reset does not change.
    fn reset(&self) {}
}

impl SeriesState for HistogramState {
    fn new(row: &MetricRow, labels: &[&str], export: Option<&dyn HistogramExport>) -> Self {
        let named: Vec<(&str, &str)> =
            row.labels.iter().copied().zip(labels.iter().copied()).collect();
        Self {
            cells: Cells::new(row.buckets.len() + 2),
            bounds: row.buckets.as_slice().into(),
            export: export.map(|export| export.series(row, &named)),
        }
    }

    fn value(&self, row: &MetricRow, _: Since) -> Option<SampleValue> {
        let buckets: Vec<u64> =
            (0..=row.buckets.len()).map(|bucket| self.cells.sum(1 + bucket)).collect();
        let is_told = row.labels.is_empty() || buckets.iter().any(|count| *count > 0);
        is_told.then(|| SampleValue::Histogram { buckets, sum: self.cells.sum_f64(0) })
    }

    fn reset(&self) {
        self.cells.reset();
    }
}

impl fmt::Debug for HistogramState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistogramState").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}
