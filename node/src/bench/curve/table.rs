//! The figures of a curve as a table in Markdown: a row for each figure, a column for each number of
//! objects, and how the last does beside the first.

use std::fmt;

use serde::Serialize;

use crate::bench::kind::Kind;
use crate::bench::report::Report;
use crate::bench::workload::Workspace;

/// Objects of which `select` lists one.
const SHARDS: f64 = 16.0;

/// All figures.
#[derive(Debug, Default, Serialize)]
pub(super) struct Table {
    pub(super) sizes: Vec<CurveSize>,
}

/// The figures at one number of objects. Memory is that of all nodes, but for the bytes of an
/// object.
#[derive(Debug, Default, Serialize)]
pub(super) struct CurveSize {
    pub(super) objects: u32,
    /// Bytes of an object in JSON as it is answered.
    pub(super) json_bytes: usize,
    pub(super) made_per_second: f64,
    pub(super) made_cpu_us: f64,
    /// The most memory while the objects were made.
    pub(super) peak_megabytes: f64,
    /// After a rest.
    pub(super) resident_megabytes: f64,
    /// What a node has more than without the objects, for each.
    pub(super) bytes_per_object: f64,
    pub(super) ready_seconds: f64,
    /// After the start and a rest.
    pub(super) restarted_megabytes: f64,
    pub(super) rows: Vec<CurveRow>,
}

/// One measurement at one number of objects.
#[derive(Debug, Serialize)]
pub(super) struct CurveRow {
    /// What the CPU time is told of: `get`, `list, an object`.
    name: String,
    /// CPU time of the servers for each, in microseconds.
    cpu_us: f64,
    report: Report,
}

impl CurveRow {
    /// The row of a measurement: its CPU time is told of each object where it reads many.
    pub(super) fn new(kind: Kind, report: Report, workspace: &Workspace) -> Self {
        let objects = f64::from(workspace.objects());
        let (each, unit) = match kind {
            Kind::List => (objects, ", an object"),
            Kind::Select => ((objects / SHARDS).ceil(), ", an object"),
            Kind::SelectPart => {
                ((objects / f64::from(workspace.template().parts())).ceil(), ", an object")
            }
            Kind::Page => (1.0, ", a page"),
            Kind::Watch => (1.0, ", an event"),
            _ => (1.0, ""),
        };
        let cpu_us = report.cpu_ms_per_1000_operations / each;
        Self { name: format!("{kind}{unit}"), cpu_us, report }
    }
}

impl Table {
    fn row(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        figure: impl Fn(&CurveSize) -> Option<f64>,
    ) -> fmt::Result {
        let figures: Vec<f64> = self.sizes.iter().filter_map(figure).collect();
        write!(f, "| {name} |")?;
        figures.iter().try_for_each(|figure| write!(f, " {} |", rounded(*figure)))?;
        match (figures.first(), figures.last()) {
            (Some(first), Some(last)) if *first > 0.0 => writeln!(f, " {:.2} |", last / first),
            _ => writeln!(f, " |"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n| Objects |")?;
        self.sizes.iter().try_for_each(|size| write!(f, " {} |", size.objects))?;
        write!(f, " last / first |\n|---|")?;
        self.sizes.iter().try_for_each(|_| write!(f, "---:|"))?;
        writeln!(f, "---:|")?;
        let measurements = self.sizes.first().map_or(0, |size| size.rows.len());
        for at in 0..measurements {
            let name = &self.sizes[0].rows[at].name;
            let row = |size: &CurveSize| size.rows.get(at).map(|row| row.cpu_us);
            self.row(f, &format!("{name}: CPU us"), row)?;
            let row = |size: &CurveSize| size.rows.get(at).map(|row| row.report.latency_ms.p50);
            self.row(f, &format!("{name}: p50 ms"), row)?;
            let row = |size: &CurveSize| size.rows.get(at).map(|row| row.report.latency_ms.p99);
            self.row(f, &format!("{name}: p99 ms"), row)?;
        }
        self.row(f, "errors", |size| {
            Some(size.rows.iter().map(|row| row.report.errors as f64).sum())
        })?;
        self.row(f, "made a second", |size| Some(size.made_per_second))?;
        self.row(f, "made: CPU us", |size| Some(size.made_cpu_us))?;
        self.row(f, "an object in JSON, bytes", |size| Some(size.json_bytes as f64))?;
        self.row(f, "an object in memory, bytes", |size| Some(size.bytes_per_object))?;
        self.row(f, "resident MB", |size| Some(size.resident_megabytes))?;
        self.row(f, "at the most while made, MB", |size| Some(size.peak_megabytes))?;
        self.row(f, "resident after a start, MB", |size| Some(size.restarted_megabytes))?;
        self.row(f, "start to ready, s", |size| Some(size.ready_seconds))
    }
}

/// A figure with about three digits.
fn rounded(figure: f64) -> String {
    match figure {
        100.0.. => format!("{figure:.0}"),
        10.0.. => format!("{figure:.1}"),
        1.0.. => format!("{figure:.2}"),
        _ => format!("{figure:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_column_for_each_number_of_objects() {
        let size =
            |objects, ready_seconds| CurveSize { objects, ready_seconds, ..CurveSize::default() };
        let table = Table { sizes: vec![size(10, 0.5), size(100, 1.25)] }.to_string();
        let lines: Vec<&str> = table.trim().lines().collect();
        assert_eq!(lines[..2], ["| Objects | 10 | 100 | last / first |", "|---|---:|---:|---:|"]);
        assert_eq!(lines.last(), Some(&"| start to ready, s | 0.500 | 1.25 | 2.50 |"));
    }

    #[test]
    fn figures_are_rounded() {
        let check = |figure: f64, expect: &str| assert_eq!(rounded(figure), expect);
        check(123_456.7, "123457");
        check(12.345, "12.3");
        check(1.234, "1.23");
        check(0.1234, "0.123");
    }
}
