//! The text forms of metrics: that of Prometheus (0.0.4) and OpenMetrics 1.0.0.
//!
//! Invariants: metrics come in the order of their names and series in that of their labels; the
//! buckets of a histogram are cumulative, and its count is the last of them, so that both agree
//! while requests go on.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use super::Registry;
use crate::number;
use crate::samples::{Gathered, Sample, SampleValue, Since};
use crate::table::{MetricRow, MetricType};

/// A text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// That of Prometheus.
    Prometheus,
    /// OpenMetrics.
    OpenMetrics,
}

impl TextFormat {
    /// The form that a client asks for in its `Accept` header: OpenMetrics where it prefers that.
    #[must_use]
    pub fn of_accept(accept: &str) -> Self {
        let mut best = (Self::Prometheus, 0.0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let format = match parts.next().unwrap_or_default() {
                "application/openmetrics-text" => Self::OpenMetrics,
                "text/plain" | "text/*" | "*/*" => Self::Prometheus,
                _ => continue,
            };
            let mut quality = 1.0;
            let mut is_known = true;
            for parameter in parts {
                match parameter.split_once('=') {
                    Some(("q", value)) => quality = value.parse().unwrap_or(0.0),
                    Some(("version", version)) if format == Self::OpenMetrics => {
                        is_known = matches!(version, "1.0.0" | "0.0.1");
                    }
                    _ => {}
                }
            }
            if is_known && quality > best.1 {
                best = (format, quality);
            }
        }
        best.0
    }

    /// The media type of the form.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

impl Registry {
    /// What was counted since the last reset; only metrics that `is_wanted`.
    #[must_use]
    pub fn text(&self, format: TextFormat, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        for metric in self.gather(Since::Reset).filter(|metric| is_wanted(metric.row.name)) {
            write_metric(&mut out, format, &metric);
        }
        if format == TextFormat::OpenMetrics {
            out.push_str("# EOF\n");
        }
        out
    }
}

fn write_metric(out: &mut String, format: TextFormat, metric: &Gathered<'_>) {
    let row = metric.row;
    let (name, type_name, suffix) = names(format, row);
    // Strings grow.
    let _ = write!(out, "# HELP {name} ");
    escape(out, &row.help(), format == TextFormat::OpenMetrics);
    let _ = write!(out, "\n# TYPE {name} {type_name}\n");
    for sample in &metric.samples {
        match &sample.value {
            SampleValue::Number(value) => {
                line(out, (name, suffix), (row, sample), None, *value);
            }
            SampleValue::Histogram { buckets, sum } => {
                write_histogram(out, format, (row, sample), (buckets, *sum));
            }
        }
    }
}

/// The name of the metric, its type, and what the names of its samples have more.
fn names(format: TextFormat, row: &MetricRow) -> (&str, &'static str, &'static str) {
    if (format, row.metric_type) != (TextFormat::OpenMetrics, MetricType::Counter) {
        return (row.name, row.metric_type.name(), "");
    }
    (row.name.strip_suffix("_total").unwrap_or(row.name), "counter", "_total")
}

fn write_histogram(
    out: &mut String,
    format: TextFormat,
    of: (&MetricRow, &Sample),
    (buckets, sum): (&[u64], f64),
) {
    let row = of.0;
    let mut total = 0_u64;
    for (place, count) in buckets.iter().enumerate() {
        total += count;
        let bound = row.buckets.get(place).copied().unwrap_or(f64::INFINITY);
        let SampleValue::Number(value) = SampleValue::of_count(total) else { continue };
        line(out, (row.name, "_bucket"), of, Some((format, bound)), value);
    }
    line(out, (row.name, "_sum"), of, None, sum);
    if let SampleValue::Number(value) = SampleValue::of_count(total) {
        line(out, (row.name, "_count"), of, None, value);
    }
}

/// Writes one sample.
fn line(
    out: &mut String,
    (name, suffix): (&str, &str),
    (row, sample): (&MetricRow, &Sample),
    bound: Option<(TextFormat, f64)>,
    value: f64,
) {
    out.push_str(name);
    out.push_str(suffix);
    let mut separator = '{';
    for (label, value) in row.labels.iter().zip(&sample.labels) {
        out.push(separator);
        out.push_str(label);
        out.push_str("=\"");
        escape(out, value, true);
        out.push('"');
        separator = ',';
    }
    if let Some((format, bound)) = bound {
        out.push(separator);
        out.push_str("le=\"");
        let begin = out.len();
        number::write(out, bound);
        let is_whole = out[begin..].bytes().all(|byte| byte.is_ascii_digit());
        if format == TextFormat::OpenMetrics && is_whole {
            out.push_str(".0");
        }
        out.push('"');
        separator = ',';
    }
    if separator == ',' {
        out.push('}');
    }
    out.push(' ');
    number::write(out, value);
    out.push('\n');
}

/// Writes a text on one line.
fn escape(out: &mut String, text: &str, quotes: bool) {
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            other => out.push(other),
        }
    }
}
