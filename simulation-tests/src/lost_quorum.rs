//! The loss of a quorum for good, and its recovery: most voters go with their disks, the member
//! with the longest log of those that are left becomes the first voter of a new cluster, and all
//! others come back as new members.
//!
//! Invariants: at most once in a run, and not while the membership changes; members that are left
//! and not chosen go on as members of the old cluster for a while, and the new one must refuse
//! them.

use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_raft::ClusterId;
use quorate_raft::recovery::{Recovery, RecoveryError, RecoveryOptions, execute};
use quorate_store::{NodeId, Revision, Snapshot, Store};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use turmoil::Sim;

use crate::broken::{self, Broken};
use crate::checkers::LostQuorum;
use crate::cluster::Cluster;
use crate::env::env;
use crate::operator::Operator;
use crate::rounds::Round;
use crate::topology::{HostId, folder, peer};
use crate::trace::Trace;

/// The loss of a quorum that a run plans.
pub(crate) struct QuorumLoss {
    rng: StdRng,
    /// `None` when there is none, or it is over.
    due: Option<LossTime>,
    /// Not before this time, nor after that one.
    window: Range<Duration>,
    voters: u64,
    broken: Option<Broken>,
    trace: Trace,
}

/// The time of the loss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossTime {
    /// In this round, or the next one in which the members stand still.
    pub(crate) round: u64,
    /// After this part of the round's faults.
    pub(crate) part: f64,
}

/// What recovery has made of a member.
struct Founded {
    cluster: ClusterId,
    certain: Revision,
    base: Revision,
    largest: NodeId,
    snapshot: Snapshot,
}

impl QuorumLoss {
    /// When it is due, if at all.
    pub(crate) fn new(
        seed: u64,
        due: Option<LossTime>,
        (voters, broken, trace): (u64, Option<Broken>, Trace),
    ) -> Self {
        let window = Duration::ZERO..Duration::ZERO;
        Self { rng: StdRng::seed_from_u64(seed), due, window, voters, broken, trace }
    }

    /// This round begins.
    pub(crate) fn begin_round(&mut self, round: Round) {
        if let Some(due) = self.due.filter(|due| due.round <= round.number) {
            self.window = round.from + (round.until - round.from).mul_f64(due.part)..round.until;
        }
    }

    /// Whether the loss may happen now.
    pub(crate) fn is_near(&self, now: Duration) -> bool {
        self.due.is_some() && self.window.contains(&now)
    }

    /// Carries out the loss and the recovery when they are due. Returns what was lost.
    pub(crate) fn step(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        operator: &Operator,
    ) -> Result<Option<LostQuorum>, Box<dyn Error>> {
        // The parts of a process that has ended by itself hold its folder until it is started
        // again.
        let ended =
            cluster.hosts().any(|host| cluster.member(host).is_some() && !cluster.runs(sim, host));
        if !self.is_near(sim.elapsed()) || ended || !operator.is_content(cluster) {
            return Ok(None);
        }
        self.due = None;
        let left = self.lose_voters(sim, cluster)?;
        let applied = left.iter().map(|(_, applied)| *applied).max().unwrap_or_default();
        let hosts: Vec<HostId> = left.iter().map(|(host, _)| *host).collect();
        let (host, founded) = self.recover(cluster, &hosts)?;
        let old = cluster.id();
        let Founded { cluster: new, certain, base, largest, snapshot } = founded;
        tracing::info!(host, %base, left = ?hosts, "recovered from a lost quorum");
        cluster.refound(sim, host, new)?;
        for host in hosts.into_iter().filter(|other| *other != host) {
            cluster.restart(sim, host);
        }
        Ok(Some(LostQuorum { old, new, applied, certain, base, largest, snapshot }))
    }

    /// All power goes, and most voters with it. Gives who is left, and up to where each had applied
    /// the history for good.
    fn lose_voters(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
    ) -> Result<Vec<(HostId, Revision)>, Box<dyn Error>> {
        let spared = spared(&mut self.rng, self.voters, |host| cluster.member(host).is_some());
        let mut left = Vec::new();
        for host in cluster.hosts() {
            let is_voter = host <= self.voters;
            let survives = if is_voter { spared.contains(&host) } else { self.rng.random() };
            // What a quorum has, a member may apply before it is on its own disk.
            let replica =
                cluster.replica(host).filter(|_| cluster.disk(host).is_synced(holds_entries));
            let applied = replica.map(|replica| replica.status().applied);
            if survives && cluster.member(host).is_some() {
                cluster.cut_power(sim, host, self.rng.random());
                left.push((host, applied.unwrap_or_default()));
            } else {
                cluster.vacate(sim, host);
            }
        }
        Ok(left)
    }

    /// Recovers the member with the longest log.
    fn recover(
        &mut self,
        cluster: &Cluster,
        left: &[HostId],
    ) -> Result<(HostId, Founded), Box<dyn Error>> {
        let mut longest = None;
        for host in left {
            let options = self.options(cluster, *host);
            // A runtime each: when it goes, the folder is free again.
            match runtime()?
                .block_on(async { Recovery::open(options).await.map(|found| found.plan().clone()) })
            {
                // It had only just come.
                Err(RecoveryError::Empty { .. }) => {}
                found => longest = longest.max(Some((found?.last, *host))),
            }
        }
        let (_, host) = longest.ok_or("no member is left")?;
        let options = self.options(cluster, host);
        let node = options.node;
        let entropy = env(self.rng.random(), 0, self.trace.clone()).entropy;
        let founded: Result<Founded, RecoveryError> = runtime()?.block_on(async {
            let recovery = Recovery::open(options).await?;
            let certain = recovery.plan().revision;
            let others = recovery.plan().given_up.iter().map(|given| given.node);
            let largest = others.chain([node]).max().unwrap_or_default();
            let recovered = execute(recovery, &*entropy).await?;
            let (cluster, base, snapshot) =
                (recovered.cluster, recovered.revision, recovered.snapshot.clone());
            recovered.finish()?;
            Ok(Founded { cluster, certain, base, largest, snapshot })
        });
        Ok((host, founded?))
    }

    fn options(&self, cluster: &Cluster, host: HostId) -> RecoveryOptions {
        let node = cluster.member(host).unwrap_or_default();
        let lie = self.broken.filter(|broken| *broken == Broken::ForgetfulRecovery);
        RecoveryOptions {
            node,
            cluster: cluster.id(),
            naming: "svc".to_owned(),
            peer: peer(host),
            disk: broken::disk(lie, cluster.disk(host)),
            directory: PathBuf::from(folder(host, node)),
        }
    }
}

/// The voters that survive the loss: at least one that is there, and no quorum.
fn spared(rng: &mut StdRng, voters: u64, is_there: impl Fn(HostId) -> bool) -> Vec<HostId> {
    // One of them may be out just now.
    let mut there: Vec<HostId> = (1..=voters).filter(|host| is_there(*host)).collect();
    there.shuffle(rng);
    there.truncate(rng.random_range(1..=there.len() / 2));
    there
}

/// Whether a file holds entries of a log, or will: entries wait, and are nowhere yet, until the
/// segment that they go to is made.
fn holds_entries(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("log"))
        && path.extension().is_some_and(|extension| extension == "log" || extension == "tmp")
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_voter_that_is_there_is_spared_and_no_quorum() {
        for (voters, out) in [(3, 0), (3, 1), (3, 3), (5, 0), (5, 2)] {
            for seed in 0..100 {
                let spared = spared(&mut StdRng::seed_from_u64(seed), voters, |host| host != out);
                assert!(
                    !spared.is_empty() && !spared.contains(&out),
                    "{spared:?} of {voters} without {out}"
                );
                assert!(spared.len() as u64 <= voters / 2, "{spared:?} of {voters}");
            }
        }
    }
}
