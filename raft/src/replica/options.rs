//! Replica options: what a member is opened with.
//!
//! Invariant: a member keeps its node id and its cluster for ever; everything else may change from
//! start to start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quorate_archive::{
    BULK_BYTES, BULK_WAIT, BackfillOptions, DEFAULT_ARCHIVE_BYTES, DEFAULT_ARCHIVE_RETENTION,
    Engine, SLICE_VERSIONS,
};
use quorate_env::disk::Disk;
use quorate_env::{Env, Fatal};
use quorate_store::{Limits, NodeId};
use quorate_trace::Tracer;

use crate::admin::CertificateSigner;
use crate::cluster::ClusterId;
use crate::network::PeerTls;
use crate::{log, state_machine};

/// What [`super::Replica::open`] needs.
#[derive(Clone)]
pub struct ReplicaOptions {
    /// This member.
    pub node: NodeId,
    /// Its cluster.
    pub cluster: ClusterId,
    /// Where to accept peers, `host:port`; port 0 takes a free one.
    pub listen: String,
    /// Clock, randomness, network.
    pub env: Env,
    /// The TLS settings among members.
    pub tls: Arc<PeerTls>,
    /// Makes certificates for nodes that join.
    pub signer: Arc<dyn CertificateSigner>,
    /// The folder that [`ReplicaOptions::new`] was given. A recovery leaves its marker there.
    pub directory: PathBuf,
    /// The log on disk.
    pub log: log::LogOptions,
    /// The state on disk.
    pub state: state_machine::StateMachineOptions,
    /// What may be proposed while this member leads.
    pub limits: Limits,
    /// Heartbeats and elections.
    pub timing: Timing,
    /// How much log to keep.
    pub compaction: Compaction,
    /// The archive, where one is kept.
    pub archive: Option<ArchiveSettings>,
    /// Traces what followers forward; `None` where no traces are kept.
    pub tracer: Option<Arc<Tracer>>,
    /// Signals that the disk has failed. The process must stop then.
    pub fatal: Fatal,
}

/// The options of a member that have no default: its identity and its seams.
pub struct MemberOptions {
    /// Its node id.
    pub node: NodeId,
    /// Its cluster.
    pub cluster: ClusterId,
    /// The naming profile that the data belongs to.
    pub naming: String,
    /// Where to accept peers, `host:port`.
    pub listen: String,
    /// Clock, randomness, network.
    pub env: Env,
    /// The TLS settings among members.
    pub tls: Arc<PeerTls>,
    /// Makes certificates for nodes that join.
    pub signer: Arc<dyn CertificateSigner>,
}

impl ReplicaOptions {
    /// The usual settings, with the data in `directory/log` and `directory/state`.
    #[must_use]
    pub fn new(member: MemberOptions, disk: Arc<dyn Disk>, directory: &Path) -> Self {
        let MemberOptions { node, cluster, naming, listen, env, tls, signer } = member;
        let fatal = Fatal::new();
        let log_identity = log::LogIdentity { cluster, node };
        let state_identity = state_machine::StateIdentity { cluster, naming };
        let state =
            state_machine::StateMachineOptions::new(directory.join("state"), state_identity);
        Self {
            node,
            cluster,
            listen,
            env,
            tls,
            signer,
            directory: directory.to_owned(),
            log: log::LogOptions::new(
                disk.clone(),
                directory.join("log"),
                log_identity,
                fatal.clone(),
            ),
            state: state_machine::StateMachineOptions { disk, fatal: fatal.clone(), ..state },
            limits: Limits::default(),
            timing: Timing::default(),
            compaction: Compaction::default(),
            archive: None,
            tracer: None,
            fatal,
        }
    }
}

/// Where the archive is and how far it reaches.
#[derive(Debug, Clone)]
pub struct ArchiveSettings {
    /// Its own folder. Created when absent; may be removed while the member is stopped.
    pub directory: PathBuf,
    /// Keeps the tables instead of that folder, in simulations.
    pub engine: Option<Arc<dyn Engine>>,
    /// How far back it reaches.
    pub retention: Duration,
    /// Bytes on disk beyond which the oldest goes before its time.
    pub bytes: u64,
    /// How long a change waits for others to be archived with it.
    pub bulk_wait: Duration,
    /// Bytes of changes that are archived at once.
    pub bulk_bytes: usize,
    /// See [`SLICE_VERSIONS`].
    pub slice_versions: u64,
    /// How it is filled from other members.
    pub backfill: BackfillOptions,
}

impl ArchiveSettings {
    /// The usual ones.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            engine: None,
            retention: DEFAULT_ARCHIVE_RETENTION,
            bytes: DEFAULT_ARCHIVE_BYTES,
            bulk_wait: BULK_WAIT,
            bulk_bytes: BULK_BYTES,
            slice_versions: SLICE_VERSIONS,
            backfill: BackfillOptions::default(),
        }
    }
}

/// When a follower stands for election.
///
/// A follower without a heartbeat waits `election_max` (the leader may count on it that long), then
/// a random time between `election_min` and `election_max`, and then asks the others whether they
/// would vote for it. With the defaults a new leader is there 0.9 to 1.3 s after the old one died,
/// while nine lost heartbeats in a row change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two heartbeats of an idle leader.
    pub heartbeat: Duration,
    /// The shortest wait before an election.
    pub election_min: Duration,
    /// The longest, and how long a leader's authority lasts.
    pub election_max: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(100),
            election_min: Duration::from_millis(300),
            election_max: Duration::from_millis(600),
        }
    }
}

/// When the log is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// After how many entries the state is made durable, so that the log before can go. Bounds what
    /// a restart applies again.
    pub every: u64,
    /// How many entries before that point stay, for members that are a little behind.
    pub keep: u64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { every: 10_000, keep: 20_000 }
    }
}
