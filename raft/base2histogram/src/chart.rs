//! Several histograms below each other.

use std::fmt;

use crate::Histogram;

/// Several histograms, shown a line each.
#[derive(Debug)]
pub struct AsciiChart<T = ()> {
    histograms: Vec<(String, Histogram<T>)>,
}

impl<T> AsciiChart<T> {
    /// Of none.
    #[must_use]
    pub fn new() -> Self {
        Self { histograms: Vec::new() }
    }

    /// With one more below the others.
    #[must_use]
    pub fn add(mut self, name: &str, histogram: Histogram<T>) -> Self {
        self.histograms.push((name.to_owned(), histogram));
        self
    }
}

impl<T> Default for AsciiChart<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Display for AsciiChart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut each = self.histograms.iter();
        each.try_for_each(|(name, histogram)| {
            writeln!(f, "{name}: {}", histogram.percentile_stats())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_histogram_has_a_line() {
        let mut sizes = Histogram::<()>::new();
        sizes.record(3);
        let chart = AsciiChart::new().add("sizes", sizes).add("none", Histogram::new());
        let expect = "sizes: 1 samples, p1 3, p50 3, p99 3\nnone: 0 samples, p1 0, p50 0, p99 0\n";
        assert_eq!(chart.to_string(), expect);
    }
}
