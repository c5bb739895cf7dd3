//! Families: all series of one metric, and the handles by which the parts of the server count.
//!
//! Invariants: a handle of a metric that is not exposed does nothing; series beyond the limit of a
//! family are counted in one more, whose labels all say so. Counting takes no lock.

mod handles;
mod shared_histogram;
mod states;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub use handles::{
    Counter, CounterSeries, Gauge, GaugeSeries, Histogram, HistogramSeries, PairedSeries,
};
pub(crate) use states::{CounterState, GaugeState, HistogramState, SeriesState};

use crate::samples::{HistogramExport, Observations, Observer, Sample, Since};
use crate::series_map::SeriesMap;
use crate::table::MetricRow;

/// What stands in each label of the series that counts what has no series of its own.
const OVERFLOW: &str = "overflow";
/// What stands in place of a label's value that is not among the allowed ones.
const UNEXPECTED: &str = "unexpected";
/// Labels that a metric has at most.
pub(crate) const MAX_LABELS: usize = 12;

/// All series of one metric.
pub(crate) struct Family<S> {
    pub(crate) row: MetricRow,
    /// By label, by its place, the values that it may have.
    allowed: Vec<(usize, BTreeSet<String>)>,
    shared: Arc<FamiliesShared>,
    series: SeriesMap<Arc<S>>,
    overflow: OnceLock<Arc<S>>,
    /// What says the values when they are read.
    observer: OnceLock<Observer>,
    is_used: AtomicBool,
}

/// What the families of one registry share.
#[derive(Default)]
pub(crate) struct FamiliesShared {
    /// Label values that were replaced.
    pub(crate) unexpected: AtomicU64,
    /// Observations of series beyond the limit.
    pub(crate) overflowed: AtomicU64,
    /// Where histograms are exported to as well.
    pub(crate) export: Option<Arc<dyn HistogramExport>>,
}

impl<S: SeriesState> Family<S> {
    pub(crate) fn new(
        row: MetricRow,
        allowed: Vec<(usize, BTreeSet<String>)>,
        shared: Arc<FamiliesShared>,
    ) -> Self {
        assert!(row.labels.len() <= MAX_LABELS, "{} has too many labels", row.name);
        Self {
            row,
            allowed,
            shared,
            series: SeriesMap::default(),
            overflow: OnceLock::new(),
            observer: OnceLock::new(),
            is_used: AtomicBool::new(false),
        }
    }

    /// A part of the server counts with it from now on.
    pub(crate) fn begin(&self) {
        self.is_used.store(true, Ordering::Relaxed);
        if self.row.labels.is_empty() {
            self.series(&[]);
        }
    }

    /// Its values are asked of the observer whenever they are read.
    pub(crate) fn observe(&self, observer: Observer) {
        self.is_used.store(true, Ordering::Relaxed);
        let is_first = self.observer.set(observer).is_ok();
        debug_assert!(is_first, "{} has an observer already", self.row.name);
    }

    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// The series of these labels.
    pub(crate) fn series(&self, labels: &[&str]) -> &Arc<S> {
        if self.allowed.is_empty() {
            return self.find(labels);
        }
        let mut values = [""; MAX_LABELS];
        let values = &mut values[..labels.len()];
        values.copy_from_slice(labels);
        for (place, allowed) in &self.allowed {
            if !allowed.contains(values[*place]) {
                values[*place] = UNEXPECTED;
                self.shared.unexpected.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.find(values)
    }

    fn find(&self, labels: &[&str]) -> &Arc<S> {
        let make = || Arc::new(S::new(&self.row, labels, self.shared.export.as_deref()));
        self.series.get_or_insert(labels, make).unwrap_or_else(|| {
            self.shared.overflowed.fetch_add(1, Ordering::Relaxed);
            let labels = &[OVERFLOW; MAX_LABELS][..labels.len()];
            let make = || Arc::new(S::new(&self.row, labels, self.shared.export.as_deref()));
            self.overflow.get_or_init(make)
        })
    }

    /// Every series with its value, in the order of the labels.
    pub(crate) fn samples(&self, since: Since) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (labels, series) in self.series.iter() {
            let value = series.value(&self.row, since);
            samples.extend(value.map(|value| Sample { labels: labels.into(), value }));
        }
        if let Some(value) = self.overflow.get().and_then(|one| one.value(&self.row, since)) {
            let labels = self.row.labels.iter().map(|_| OVERFLOW.into()).collect();
            samples.push(Sample { labels, value });
        }
        if let Some(observer) = self.observer.get() {
            let mut observed = Observations::new(self.row.labels.len(), &mut samples);
            observer(&mut observed);
        }
        samples.sort_by(|a, b| a.labels.cmp(&b.labels));
        samples
    }

    /// Forgets what was counted until now.
    pub(crate) fn reset(&self) {
        self.series.iter().map(|(_, series)| series).chain(self.overflow.get()).for_each(
            |series| {
                series.reset();
            },
        );
    }
}

impl<S> fmt::Debug for Family<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family").field("name", &self.row.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for FamiliesShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FamiliesShared").field("export", &self.export).finish_non_exhaustive()
    }
}
