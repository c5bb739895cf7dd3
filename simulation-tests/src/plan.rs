//! The plan of a simulated cluster: its members, its limits and timings, and what is broken in it.
//! It is drawn from the seed and does not change during a run.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use quorate_raft::replica::{ArchiveSettings, Compaction, Timing};
use quorate_store::Retention;
use rand::Rng;
use rand::rngs::StdRng;

use crate::api::ApiPlan;
use crate::broken::Broken;
use crate::run::Scenario;
use crate::trace::Trace;
use crate::workload::Workload;

/// Pauses between heartbeats, milliseconds: around what members have by default.
const HEARTBEATS_MS: Range<u64> = 50..150;
/// The same where the seed decides how long a run is: slower as well.
const SOAK_HEARTBEATS_MS: Range<u64> = 50..300;
/// Longer than any run, milliseconds.
const RETENTION_MS: u64 = 24 * 3600 * 1000;
/// Little enough history that readers miss something, and enough that the driver, which looks now
/// and then, does not; bytes.
const LITTLE_HISTORY_BYTES: Range<u64> = 30_000..150_000;
/// The same with the API, whose first second brings many objects.
const LITTLE_API_HISTORY_BYTES: Range<u64> = 500_000..900_000;

/// How many times longer a long log becomes before it is cut.
const LONG_LOG: u64 = 32;
/// Short segments, so that the log goes through many of them; bytes.
const SEGMENT_BYTES: u64 = 64 << 10;
/// Those of long logs.
const SHORT_SEGMENT_BYTES: u64 = 16 << 10;
/// So little time that archives drop what is too old, milliseconds.
const SHORT_PAST_MS: Range<u64> = 5_000..60_000;
/// So little room that they drop what is too much, bytes.
const LITTLE_PAST_BYTES: Range<u64> = 100_000..2_000_000;
/// How long a change waits for others to be archived with it, milliseconds.
const BULK_WAITS_MS: Range<u64> = 100..4_000;
/// So few that archives have many bulks and slices.
const BULK_BYTES: Range<usize> = 2_000..200_000;
const SLICE_VERSIONS: Range<u64> = 20..500;

/// What a cluster is made of.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Members that vote, from the start; they have the first hosts.
    pub(crate) voters: u64,
    /// Hosts that shall have a member: after the voters come learners.
    pub(crate) nodes: u64,
    /// All hosts.
    pub(crate) hosts: u64,
    pub(crate) compaction: Compaction,
    /// Bytes of a grown segment of the log.
    pub(crate) segment_bytes: u64,
    pub(crate) timing: Timing,
    pub(crate) retention: Retention,
    /// How members keep their archives.
    pub(crate) archive: ArchiveSettings,
    /// How long syncs of the logs' disks usually take.
    pub(crate) sync: Duration,
    pub(crate) broken: Option<Broken>,
    pub(crate) trace: Trace,
    /// With this, nodes serve the API; else the store, through the gateway.
    pub(crate) api: Option<Arc<ApiPlan>>,
}

impl Plan {
    /// The cluster's shape, its settings and the speed of its disks.
    pub(crate) fn draw(
        rng: &mut StdRng,
        scenario: &Scenario,
        trace: &Trace,
    ) -> Result<Self, Box<dyn Error>> {
        let voters = if rng.random_ratio(1, 4) { 5 } else { 3 };
        let nodes = voters + [0, 0, 1, 2][rng.random_range(0..4)];
        let heartbeats = if scenario.is_soak() { SOAK_HEARTBEATS_MS } else { HEARTBEATS_MS };
        let heartbeat = Duration::from_millis(rng.random_range(heartbeats));
        let election_min = heartbeat * rng.random_range(2..4);
        let election_max = election_min + heartbeat * rng.random_range(1..4);
        let mut retention = Retention { time_ms: RETENTION_MS, ..Retention::default() };
        if rng.random_ratio(1, 3) {
            retention.bytes = rng.random_range(match scenario.workload {
                Workload::Store => LITTLE_HISTORY_BYTES,
                Workload::Api | Workload::Definitions | Workload::Policies => {
                    LITTLE_API_HISTORY_BYTES
                }
            });
        }
        // A quarter of the runs have logs that grow for minutes: only there does a disk become full,
        // because purged segments are used again, and only there does much come back by replaying. The
        // others' are so short that members behind need snapshots.
        let has_long_logs = scenario.seed / 16 % 4 == 3;
        let api = match scenario.workload {
            Workload::Store => None,
            _ => Some(Arc::new(ApiPlan::new(nodes + 1, scenario.broken_api)?)),
        };
        Ok(Self {
            seed: rng.random(),
            voters,
            nodes,
            hosts: nodes + 1,
            compaction: Compaction {
                every: rng.random_range(10..150) * if has_long_logs { LONG_LOG } else { 1 },
                keep: rng.random_range(1..50),
            },
            segment_bytes: if has_long_logs { SHORT_SEGMENT_BYTES } else { SEGMENT_BYTES },
            timing: Timing { heartbeat, election_min, election_max },
            retention,
            archive: archive(rng),
            sync: Duration::from_micros(rng.random_range(0..5000)),
            broken: scenario.broken,
            trace: trace.clone(),
            api,
        })
    }
}

fn archive(rng: &mut StdRng) -> ArchiveSettings {
    let mut archive = ArchiveSettings {
        bulk_wait: Duration::from_millis(rng.random_range(BULK_WAITS_MS)),
        bulk_bytes: rng.random_range(BULK_BYTES),
        slice_versions: rng.random_range(SLICE_VERSIONS),
        ..ArchiveSettings::new("no folder")
    };
    match rng.random_range(0..4) {
        0 => archive.retention = Duration::from_millis(rng.random_range(SHORT_PAST_MS)),
        1 => archive.bytes = rng.random_range(LITTLE_PAST_BYTES),
        _ => {}
    }
    archive
}
