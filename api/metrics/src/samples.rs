//! The values of metrics: how observers say them, and how they are read.

use std::fmt;

use crate::series_map::SERIES_LIMIT;
use crate::table::MetricRow;

/// What says the values of a metric when they are read. It must not block.
pub type Observer = Box<dyn Fn(&mut Observations<'_>) + Send + Sync>;

/// Where histograms are exported to beside the registry.
pub trait HistogramExport: fmt::Debug + Send + Sync {
    /// What takes the observations of a series with these labels.
    fn series(&self, row: &MetricRow, labels: &[(&str, &str)]) -> Box<dyn Fn(f64) + Send + Sync>;
}

/// A metric with its series.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered<'r> {
    /// The metric.
    pub row: &'r MetricRow,
    /// Its series in the order of their labels.
    pub samples: Vec<Sample>,
}

/// One series at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The values of the labels, in the order of the row's.
    pub labels: Vec<Box<str>>,
    /// The value.
    pub value: SampleValue,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    /// Of a counter or a gauge.
    Number(f64),
    /// Of a histogram.
    Histogram {
        /// The count of each bucket alone, that without a bound last.
        buckets: Vec<u64>,
        /// The sum of what was observed.
        sum: f64,
    },
}

/// From when on counters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From the start of the server.
    Start,
    /// From the last reset.
    Reset,
}

/// The values that an observer says.
#[derive(Debug)]
pub struct Observations<'s> {
    labels: usize,
    samples: &'s mut Vec<Sample>,
}

impl SampleValue {
    /// Of a number of events.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the text form knows floating-point numbers only"
    )]
    pub fn of_count(count: u64) -> Self {
        Self::Number(count as f64)
    }
}

impl<'s> Observations<'s> {
    pub(crate) fn new(labels: usize, samples: &'s mut Vec<Sample>) -> Self {
        Self { labels, samples }
    }

    /// Says the value of a series. What is over the limit of a family is left out.
    pub fn add(&mut self, labels: &[&str], value: f64) {
        debug_assert_eq!(labels.len(), self.labels, "the labels of the row");
        if self.samples.len() < SERIES_LIMIT {
            let labels = labels.iter().map(|&label| label.into()).collect();
            self.samples.push(Sample { labels, value: SampleValue::Number(value) });
        }
    }

    /// Says the value of a series that counts events.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the text form knows floating-point numbers only"
    )]
    pub fn add_count(&mut self, labels: &[&str], count: u64) {
        self.add(labels, count as f64);
    }
}
