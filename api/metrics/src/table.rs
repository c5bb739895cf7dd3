//! The table of every metric of the server, read from `metrics.table`.
//!
//! Invariants: the rows are in the order of their names, and no name is there twice; buckets
//! ascend; a histogram has some and nothing else has.
//!
//! `lifetime` says whether a metric is exposed.

mod lifetime;

use std::fmt;

use quorate_registry::release::Release;

pub use lifetime::Exposure;

const TABLE: &str = include_str!("metrics.table");

/// A metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    /// The full name.
    pub name: &'static str,
    /// What its values mean.
    pub metric_type: MetricType,
    /// How much users may rely on it.
    pub level: StabilityLevel,
    /// The names of its labels, in order.
    pub labels: Vec<&'static str>,
    /// The upper bounds of a histogram's buckets but for the last, which has none.
    pub buckets: Vec<f64>,
    /// The release from which on this server has it; `None` for those that it has had from the
    /// beginning of the table.
    pub since: Option<Release>,
    /// The first release that calls it deprecated.
    pub deprecated: Option<Release>,
    /// The first release without it.
    pub removed: Option<Release>,
    /// What it tells.
    pub text: &'static str,
}

/// What the values of a metric mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// Only grows, until the process ends.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many observations fell into each bucket, and their sum.
    Histogram,
}

/// How much users may rely on a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StabilityLevel {
    /// Not meant for users.
    Internal,
    /// May change or go at any time.
    Alpha,
    /// Its labels may grow in number.
    Beta,
    /// Keeps its name, type and labels.
    Stable,
    /// Of a collector that names no level, as those about the process.
    Unnamed,
}

impl MetricRow {
    /// Every metric.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        rows.map(|row| read(row).expect("every row of the table is well formed")).collect()
    }

    /// The text after `# HELP NAME`: level, deprecation, and what the metric tells.
    #[must_use]
    pub fn help(&self) -> String {
        let deprecated = self.deprecated.map(|release| format!("(Deprecated from {release}) "));
        let deprecated = deprecated.unwrap_or_default();
        match self.level {
            StabilityLevel::Unnamed => format!("{deprecated}{}", self.text),
            level => format!("[{level}] {deprecated}{}", self.text),
        }
    }
}

/// Reads `NAME TYPE LEVEL | LABELS | BUCKETS | SINCE [DEPRECATED [REMOVED]] | TEXT`.
pub(crate) fn read(row: &'static str) -> Option<MetricRow> {
    let mut columns = row.split(" | ");
    let mut words = columns.next()?.split(' ');
    let name = words.next()?;
    let metric_type = match words.next()? {
        "counter" => MetricType::Counter,
        "gauge" => MetricType::Gauge,
        "histogram" => MetricType::Histogram,
        _ => return None,
    };
    let level = match words.next()? {
        "internal" => StabilityLevel::Internal,
        "alpha" => StabilityLevel::Alpha,
        "beta" => StabilityLevel::Beta,
        "stable" => StabilityLevel::Stable,
        "none" => StabilityLevel::Unnamed,
        _ => return None,
    };
    let labels = list(columns.next()?).map(Some).collect::<Option<_>>()?;
    let buckets: Vec<f64> =
        list(columns.next()?).map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let mut releases = columns.next()?.split(' ').map(str::parse).map(Result::ok);
    let since = releases.next()?;
    let (deprecated, removed) = (releases.next().flatten(), releases.next().flatten());
    let text = columns.next().filter(|text| !text.is_empty())?;
    if columns.next().is_some() || buckets.is_empty() == (metric_type == MetricType::Histogram) {
        return None;
    }
    Some(MetricRow { name, metric_type, level, labels, buckets, since, deprecated, removed, text })
}

fn list(column: &'static str) -> impl Iterator<Item = &'static str> {
    column.split(' ').filter(|word| *word != "-")
}

impl MetricType {
    /// The word after `# TYPE NAME`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl fmt::Display for StabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Internal => "INTERNAL",
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Stable => "STABLE",
            Self::Unnamed => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_well_formed_and_in_order() {
        let rows = MetricRow::all();
        assert!(rows.len() > 100);
        assert!(rows.is_sorted_by(|a, b| a.name < b.name), "sorted, no name twice");
        let is_word = |word: &str| {
            let mut bytes = word.bytes();
            bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        for row in rows {
            assert!(is_word(row.name), "{}", row.name);
            assert!(row.labels.iter().all(|label| is_word(label) || *label == "signerName"));
            assert!(!row.labels.contains(&"le"), "{}", row.name);
            assert!(row.buckets.is_sorted_by(|a, b| a < b), "{}", row.name);
            assert!(row.text.ends_with('.'), "{}: {}", row.name, row.text);
        }
    }

    #[test]
    fn rows_are_read() {
        let check = |row: &'static str, expect: Option<&str>| {
            assert_eq!(read(row).map(|row| row.help()).as_deref(), expect, "{row}");
        };
        check("a counter stable | x y | - | - | A.", Some("[STABLE] A."));
        check("a gauge alpha | - | - | 1.35 1.36 | A.", Some("[ALPHA] (Deprecated from 1.36) A."));
        check("a gauge none | - | - | - | A.", Some("A."));
        check("a histogram beta | - | 0.1 1 | - | A.", Some("[BETA] A."));
        check("a histogram beta | - | - | - | A.", None);
        check("a counter beta | - | 1 | - | A.", None);
        check("a histogram beta | - | x | - | A.", None);
        check("a timer beta | - | - | - | A.", None);
        check("a gauge gamma | - | - | - | A.", None);
        check("a gauge beta | - | - | - | ", None);
    }
}
