//! The metrics of the server: one table of them all, one registry of what was counted, and the text
//! that scrapers read.
//!
//! A part of the server asks the [`Registry`] for a family by its name and keeps it; the table says
//! type, labels and buckets. Invariants: counting takes no lock, and allocates nothing where the
//! labels were seen before; a family has a bounded number of series, whatever label values come; a
//! metric that is switched off or hidden costs a branch.
//!
//! Not here: what is counted when, and the export by OpenTelemetry, which reads the registry.

mod cells;
mod families;
mod number;
mod options;
mod registry;
mod samples;
mod series_map;
mod table;

#[cfg(test)]
mod deprecation_policy;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod tests;

pub use families::{
    Counter, CounterSeries, Gauge, GaugeSeries, Histogram, HistogramSeries, PairedSeries,
};
pub use options::{AllowedLabels, MetricsOptions, OptionsError};
pub use registry::{Registry, TextFormat};
pub use samples::{Gathered, HistogramExport, Observations, Observer, Sample, SampleValue, Since};
pub use series_map::SeriesMap;
pub use table::{Exposure, MetricRow, MetricType, StabilityLevel};
