//! What a series of each type holds.
//!
//! Invariants: a counter that is reset goes on counting for those who read it since the start; an
//! observation that is no number is left out, or a sum would be none for ever. Only the thread that
//! counts writes its cells: a reset remembers what they were.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::shared_histogram::SharedHistogram;
use crate::cells::Cells;
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
pub(crate) struct GaugeState {
    /// The value that was set, less what had been added to it then.
    base: AtomicU64,
    cells: Cells,
}

/// A series of a histogram.
pub(crate) struct HistogramState {
    /// The sum, then the count of each bucket, the one without a bound last.
    cells: Cells,
    bounds: Box<[f64]>,
    export: Option<Box<dyn Fn(f64) + Send + Sync>>,
    /// What was observed for this series and another one at once.
    shared: Mutex<Vec<Arc<SharedHistogram>>>,
    /// The counts and the sum at the last reset.
    base: Mutex<Option<(Vec<u64>, f64)>>,
}

impl CounterState {
    pub(super) fn add(&self, count: u64) {
        self.cells.own().add(0, count);
    }
}

impl GaugeState {
    pub(super) fn set(&self, value: f64) {
        let base = value - self.cells.sum_f64(0);
        self.base.store(base.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn add(&self, value: f64) {
        self.cells.own().add_f64(0, value);
    }
}

/// The bucket that a value falls into. Most durations fall into the first.
pub(super) fn bucket_of(bounds: &[f64], value: f64) -> usize {
    match bounds.first() {
        Some(first) if value > *first => bounds.partition_point(|bound| *bound < value),
        _ => 0,
    }
}

impl HistogramState {
    pub(super) fn observe(&self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let bucket = bucket_of(&self.bounds, value);
        let cells = self.cells.own();
        cells.add(1 + bucket, 1);
        cells.add_f64(0, value);
        self.export(value);
    }

    /// Exports a value that is counted.
    pub(super) fn export(&self, value: f64) {
        if let Some(export) = &self.export {
            export(value);
        }
    }

    pub(super) fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// What is observed there is observed for this series as well.
    pub(super) fn shares(&self, histogram: Arc<SharedHistogram>) {
        self.shared.lock().push(histogram);
    }

    /// The counts of the buckets and the sum since the start.
    fn total(&self) -> (Vec<u64>, f64) {
        let mut buckets: Vec<u64> =
            (0..=self.bounds.len()).map(|bucket| self.cells.sum(1 + bucket)).collect();
        let mut sum = self.cells.sum_f64(0);
        for shared in &*self.shared.lock() {
            sum += shared.add_to(&self.bounds, &mut buckets);
        }
        (buckets, sum)
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
        Self { base: AtomicU64::new(0), cells: Cells::new(1) }
    }

    fn value(&self, _: &MetricRow, _: Since) -> Option<SampleValue> {
        let base = f64::from_bits(self.base.load(Ordering::Relaxed));
        Some(SampleValue::Number(base + self.cells.sum_f64(0)))
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
            shared: Mutex::default(),
            base: Mutex::default(),
        }
    }

    fn value(&self, row: &MetricRow, _: Since) -> Option<SampleValue> {
        let (mut buckets, mut sum) = self.total();
        if let Some((counts, base)) = &*self.base.lock() {
            buckets.iter_mut().zip(counts).for_each(|(bucket, count)| *bucket -= count);
            sum -= base;
        }
        let is_told = row.labels.is_empty() || buckets.iter().any(|count| *count > 0);
        is_told.then_some(SampleValue::Histogram { buckets, sum })
    }

    fn reset(&self) {
        *self.base.lock() = Some(self.total());
    }
}

impl fmt::Debug for HistogramState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistogramState").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}
