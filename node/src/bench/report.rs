//! The result of one measurement, as a line for people and as JSON for programs.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::definitions::DefinitionFigures;
use super::fanout::FanoutFigures;
use super::herd::HerdFigures;
use super::latency::{Latencies, Percentiles};
use super::overload::OverloadFigures;
use super::process::Span;
use super::watch_list::WatchListFigures;

/// One measurement.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    workload: String,
    seconds: f64,
    pub(super) operations: u64,
    pub(super) errors: u64,
    pub(super) operations_per_second: f64,
    megabytes_per_second: f64,
    pub(super) latency_ms: Percentiles,
    /// Of the server processes, user and system.
    pub(super) cpu_ms_per_1000_operations: f64,
    /// The server processes' use of CPUs, 1.0 for one whole.
    cpus: f64,
    /// Resident memory of the server processes at the end.
    rss_megabytes: f64,
    /// How much more of it they had at the highest point than at the beginning.
    rss_added_megabytes: f64,
    #[serde(flatten)]
    figures: Option<Figures>,
}

/// What a measurement tells besides, under its name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Figures {
    Definitions(DefinitionFigures),
    Fanout(FanoutFigures),
    Herd(HerdFigures),
    Overload(OverloadFigures),
    WatchList(WatchListFigures),
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) operations: u64,
    pub(super) errors: u64,
    pub(super) bytes: u64,
}

impl Report {
    pub(super) fn new(
        workload: String,
        elapsed: Duration,
        counts: &Counts,
        latencies: &Latencies,
        span: &Span,
    ) -> Self {
        let seconds = elapsed.as_secs_f64();
        let cpu = span.cpu().as_secs_f64();
        let operations = counts.operations.max(1) as f64;
        Self {
            workload,
            seconds,
            operations: counts.operations,
            errors: counts.errors,
            operations_per_second: counts.operations as f64 / seconds,
            megabytes_per_second: counts.bytes as f64 / 1e6 / seconds,
            latency_ms: latencies.percentiles(),
            cpu_ms_per_1000_operations: cpu * 1e6 / operations,
            cpus: cpu / seconds,
            rss_megabytes: span.after.rss_bytes as f64 / 1e6,
            rss_added_megabytes: span.peak_rss_bytes.saturating_sub(span.before.rss_bytes) as f64
                / 1e6,
            figures: None,
        }
    }

    /// The same with what is told besides.
    pub(super) fn with(self, figures: Figures) -> Self {
        Self { figures: Some(figures), ..self }
    }

    /// Notes how long it took to remove the definitions.
    pub(super) fn set_removal(&mut self, removed: Duration) {
        if let Some(Figures::Definitions(definitions)) = &mut self.figures {
            definitions.removed = removed;
        }
    }

    pub(super) fn header() -> String {
        format!(
            "{:<10} {:>10} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>12} {:>6} {:>8} {:>8}",
            "workload",
            "ops/s",
            "errors",
            "MB/s",
            "p50 ms",
            "p90 ms",
            "p99 ms",
            "max ms",
            "CPU ms/1000",
            "CPUs",
            "RSS MB",
            "peak +MB"
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Percentiles { p50, p90, p99, max } = self.latency_ms;
        write!(
            f,
            "{:<10} {:>10.1} {:>8} {:>9.1} {p50:>8.2} {p90:>8.2} {p99:>8.2} {max:>8.1} {:>12.2} {:>6.2} {:>8.1} {:>8.1}",
            self.workload,
            self.operations_per_second,
            self.errors,
            self.megabytes_per_second,
            self.cpu_ms_per_1000_operations,
            self.cpus,
            self.rss_megabytes,
            self.rss_added_megabytes,
        )?;
        self.figures.iter().try_for_each(|figures| write!(f, "\n{figures}"))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definitions(figures) => figures.fmt(f),
            Self::Fanout(figures) => figures.fmt(f),
            Self::Herd(figures) => figures.fmt(f),
            Self::Overload(figures) => figures.fmt(f),
            Self::WatchList(figures) => figures.fmt(f),
        }
    }
}
