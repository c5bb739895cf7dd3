//! Observations for two histograms at once, which have other buckets: one search among the bounds of
//! both, and one sum.
//!
//! Invariant: every bound of the two is one here, so that the buckets of each are sums of these.

use std::sync::Arc;

use super::states::{HistogramState, bucket_of};
use crate::cells::Cells;

/// What was observed for two series.
#[derive(Debug)]
pub(crate) struct SharedHistogram {
    /// The sum, then the count of each bucket, the one without a bound last.
    cells: Cells,
    bounds: Box<[f64]>,
}

/// Two series of histograms that the same values are observed for.
#[derive(Debug, Clone)]
pub(crate) struct HistogramPair {
    series: [Arc<HistogramState>; 2],
    shared: Arc<SharedHistogram>,
}

impl HistogramPair {
    pub(super) fn new(series: [Arc<HistogramState>; 2]) -> Self {
        let mut bounds: Vec<f64> = series.iter().flat_map(|one| one.bounds()).copied().collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let cells = Cells::new(bounds.len() + 2);
        let shared = Arc::new(SharedHistogram { cells, bounds: bounds.into() });
        series.iter().for_each(|one| one.shares(shared.clone()));
        Self { series, shared }
    }

    pub(super) fn observe(&self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let SharedHistogram { cells, bounds } = &*self.shared;
        let bucket = bucket_of(bounds, value);
        let cells = cells.own();
        cells.add(1 + bucket, 1);
        cells.add_f64(0, value);
        self.series.iter().for_each(|one| one.export(value));
    }
}

impl SharedHistogram {
    /// Adds the counts to the buckets of one of the two; gives the sum.
    pub(super) fn add_to(&self, bounds: &[f64], buckets: &mut [u64]) -> f64 {
        for (place, bound) in self.bounds.iter().enumerate() {
            let bucket = bounds.partition_point(|own| own < bound);
            buckets[bucket] += self.cells.sum(1 + place);
        }
        buckets[bounds.len()] += self.cells.sum(1 + self.bounds.len());
        self.cells.sum_f64(0)
    }
}
