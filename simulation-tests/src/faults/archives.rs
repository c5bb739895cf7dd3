//! Faults of archives: a folder that is gone, decays, is another member's, or takes nothing more.
//!
//! Invariants: a folder changes while its member is down, as its operator and its disk do it, so these
//! faults come with those that end processes; they are drawn by numbers of their own, so that they
//! change nothing else that happens.

use std::io;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::Sim;

use super::kind::FaultKind;
use crate::archive_folder::ArchiveFolder;
use crate::cluster::Cluster;
use crate::topology::HostId;

/// Archives that are hurt, of so many that could be.
const HURT: (u32, u32) = (1, 3);
/// Between the ends of the times that a disk is full, milliseconds at most.
const MAX_PAUSE_MS: u64 = 10_000;
/// How long it stays full, milliseconds at most.
const MAX_FULL_MS: u64 = 8_000;

/// Hurts archives.
pub(super) struct ArchiveFaults {
    rng: StdRng,
    only: Vec<FaultKind>,
    /// Whose disk is full, and when that ends; or when the next one becomes full.
    full: Option<HostId>,
    next: Duration,
}

impl ArchiveFaults {
    /// None yet.
    pub(super) fn new(seed: u64, only: Vec<FaultKind>) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), only, full: None, next: Duration::ZERO }
    }

    fn is_wanted(&self, kind: FaultKind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    /// A node that is down is about to start again. Says what was done to its archive.
    pub(super) fn before_start(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        node: HostId,
    ) -> io::Result<Option<FaultKind>> {
        if cluster.member(node).is_none() || !self.rng.random_ratio(HURT.0, HURT.1) {
            return Ok(None);
        }
        let kinds = [FaultKind::LostArchive, FaultKind::DecayedArchive, FaultKind::SwappedArchives];
        let (kind, seed) = (kinds[self.rng.random_range(0..kinds.len())], self.rng.random());
        let is_down = |other: &HostId| {
            *other != node && cluster.member(*other).is_some() && !cluster.runs(sim, *other)
        };
        let is_done = match kind {
            _ if !self.is_wanted(kind) => false,
            FaultKind::LostArchive => {
                cluster.set_archive(node, ArchiveFolder::default());
                true
            }
            FaultKind::DecayedArchive => cluster.archive(node).decay(seed)?,
            _ => match cluster.hosts().find(is_down) {
                Some(other) => {
                    let (one, two) = (cluster.archive(node), cluster.archive(other));
                    cluster.set_archive(node, two);
                    cluster.set_archive(other, one);
                    true
                }
                None => false,
            },
        };
        Ok(is_done.then_some(kind))
    }

    /// Has disks become full, and have room again. Gives the node whose disk has just become full.
    pub(super) fn step(&mut self, now: Duration, cluster: &Cluster) -> Option<HostId> {
        if now < self.next || !self.is_wanted(FaultKind::FullArchive) {
            return None;
        }
        if let Some(node) = self.full.take() {
            cluster.archive(node).set_full(false);
            self.next = now + Duration::from_millis(self.rng.random_range(1..=MAX_PAUSE_MS));
            return None;
        }
        let hosts: Vec<HostId> = cluster.hosts().collect();
        let node = hosts[self.rng.random_range(0..hosts.len())];
        cluster.archive(node).set_full(true);
        self.full = Some(node);
        self.next = now + Duration::from_millis(self.rng.random_range(1..=MAX_FULL_MS));
        cluster.replica(node).is_some().then_some(node)
    }
}
