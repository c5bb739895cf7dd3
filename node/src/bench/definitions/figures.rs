//! What is told of definitions besides the line of every measurement.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::bench::latency::{Latencies, Percentiles};

/// The times from the first request on.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Phases {
    /// Until the last definition was answered.
    #[serde(rename = "appliedSeconds", serialize_with = "seconds")]
    pub(super) applied: Duration,
    /// Until every server had all in discovery.
    #[serde(rename = "discoveredSeconds", serialize_with = "seconds")]
    pub(super) discovered: Duration,
    /// Until every server had all in OpenAPI.
    #[serde(rename = "describedSeconds", serialize_with = "seconds")]
    pub(super) described: Duration,
}

/// What changes of one definition cost.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Changes {
    /// Until every server shows it in OpenAPI.
    visible_ms: Percentiles,
    /// Of all server processes, for one change.
    cpu_ms: f64,
}

/// The figures of one run.
#[derive(Debug, Serialize)]
pub(in crate::bench) struct DefinitionFigures {
    /// Definitions that the others were made of.
    pub(super) files: usize,
    pub(super) servers: usize,
    /// Of one definition, as it is sent.
    pub(super) json_bytes: u64,
    pub(super) phases: Phases,
    /// Bytes of memory for each definition and server, at the most and after the rest.
    pub(super) resident: (u64, u64),
    /// A change before the many definitions were there.
    pub(super) among_few: Changes,
    /// The same change with all of them.
    pub(super) among_many: Changes,
    /// Until all were gone.
    #[serde(rename = "removedSeconds", serialize_with = "seconds")]
    pub(in crate::bench) removed: Duration,
}

impl Changes {
    pub(super) fn new(latencies: &Latencies, cpu: Duration) -> Self {
        Self { visible_ms: latencies.percentiles(), cpu_ms: cpu.as_secs_f64() * 1000.0 }
    }
}

impl fmt::Display for DefinitionFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        let Phases { applied, discovered, described } = self.phases;
        writeln!(
            f,
            "  made from {} definitions, {:.1} KiB of JSON each; after the first request: applied {:.1} s, discovered {:.1} s, in OpenAPI {:.1} s at {} servers; removed in {:.1} s",
            self.files,
            kib(self.json_bytes),
            applied.as_secs_f64(),
            discovered.as_secs_f64(),
            described.as_secs_f64(),
            self.servers,
            self.removed.as_secs_f64(),
        )?;
        let (peak, rested) = self.resident;
        writeln!(
            f,
            "  memory for each definition and server: {:.1} KiB at the most, {:.1} KiB after the rest",
            kib(peak),
            kib(rested),
        )?;
        write!(f, "  a change of one: {} before, {} with all", self.among_few, self.among_many)
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Percentiles { p50, max, .. } = self.visible_ms;
        write!(f, "{p50:.0} ms (p50), {max:.0} ms (max), {:.1} ms of CPU", self.cpu_ms)
    }
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}
