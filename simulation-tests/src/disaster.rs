//! A quorum that is lost for good, and its recovery: most voters go with their disks, an operator makes the member with the longest log of
//! those that are left the first voter of a new cluster, and everybody else comes back as a new member.
//!
//! Invariants: at most once in a run, and not while members come or go; whoever is left and is not chosen goes on as a member of the old
//! cluster for a while, and must not get in.

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
use crate::cluster::{Cluster, Seat, folder, peer};
use crate::env::env;
use crate::operator::Operator;
use crate::rounds::Round;
use crate::trace::Trace;

/// See the module.
pub(crate) struct Disaster {
    rng: StdRng,
    /// `None` when there is none, or it is over.
    due: Option<Due>,
    /// Not before this time, nor after that one.
    window: Range<Duration>,
    voters: u64,
    broken: Option<Broken>,
    trace: Trace,
}

/// When it strikes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
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

impl Disaster {
    /// When it is due, if at all.
    pub(crate) fn new(seed: u64, due: Option<Due>, (voters, broken, trace): (u64, Option<Broken>, Trace)) -> Self {
        let window = Duration::ZERO..Duration::ZERO;
        Self { rng: StdRng::seed_from_u64(seed), due, window, voters, broken, trace }
    }

    /// This round begins.
    pub(crate) fn begin_round(&mut self, round: Round) {
        if let Some(due) = self.due.filter(|due| due.round <= round.number) {
            self.window = round.from + (round.until - round.from).mul_f64(due.part)..round.until;
        }
    }

    /// Whether it may strike now.
    pub(crate) fn is_near(&self, now: Duration) -> bool {
        self.due.is_some() && self.window.contains(&now)
    }

    /// Strikes when it is time. Says what was lost.
    pub(crate) fn step(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        operator: &Operator,
    ) -> Result<Option<LostQuorum>, Box<dyn Error>> {
        // The parts of a process that has ended by itself hold its folder until it is started again.
        let ended = cluster.seats().any(|seat| cluster.member(seat).is_some() && !cluster.runs(sim, seat));
        if !self.is_near(sim.elapsed()) || ended || !operator.is_content(cluster) {
            return Ok(None);
        }
        self.due = None;
        let left = self.strike(sim, cluster)?;
        let applied = left.iter().map(|(_, applied)| *applied).max().unwrap_or_default();
        let seats: Vec<Seat> = left.iter().map(|(seat, _)| *seat).collect();
        let (seat, founded) = self.recover(cluster, &seats)?;
        let old = cluster.id();
        let Founded { cluster: new, certain, base, largest, snapshot } = founded;
        tracing::info!(seat, %base, left = ?seats, "recovered from a lost quorum");
        cluster.refound(sim, seat, new)?;
        for seat in seats.into_iter().filter(|other| *other != seat) {
            cluster.restart(sim, seat);
        }
        Ok(Some(LostQuorum { old, new, applied, certain, base, largest, snapshot }))
    }

    /// All power goes, and most voters with it. Gives who is left, and up to where each had applied the history for good.
    fn strike(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> Result<Vec<(Seat, Revision)>, Box<dyn Error>> {
        let spared = spared(&mut self.rng, self.voters, |seat| cluster.member(seat).is_some());
        let mut left = Vec::new();
        for seat in cluster.seats() {
            let is_voter = seat <= self.voters;
            let survives = if is_voter { spared.contains(&seat) } else { self.rng.random() };
            // What a quorum has, a member may apply before it is on its own disk.
            let replica = cluster.replica(seat).filter(|_| cluster.disk(seat).is_synced(holds_entries));
            let applied = replica.map(|replica| replica.status().applied);
            if survives && cluster.member(seat).is_some() {
                cluster.cut_power(sim, seat, self.rng.random());
                left.push((seat, applied.unwrap_or_default()));
            } else {
                cluster.vacate(sim, seat);
            }
        }
        Ok(left)
    }

    /// Recovers the member with the longest log.
    fn recover(&mut self, cluster: &Cluster, left: &[Seat]) -> Result<(Seat, Founded), Box<dyn Error>> {
        let mut longest = None;
        for seat in left {
            let options = self.options(cluster, *seat);
            // A runtime each: when it goes, the folder is free again.
            match runtime()?.block_on(async { Recovery::open(options).await.map(|found| found.plan().clone()) }) {
                // It had only just come.
                Err(RecoveryError::Empty { .. }) => {}
                found => longest = longest.max(Some((found?.last, *seat))),
            }
        }
        let (_, seat) = longest.ok_or("nobody is left")?;
        let options = self.options(cluster, seat);
        let node = options.node;
        let entropy = env(self.rng.random(), 0, self.trace.clone()).entropy;
        let founded: Result<Founded, RecoveryError> = runtime()?.block_on(async {
            let recovery = Recovery::open(options).await?;
            let certain = recovery.plan().revision;
            let others = recovery.plan().given_up.iter().map(|given| given.node);
            let largest = others.chain([node]).max().unwrap_or_default();
            let recovered = execute(recovery, &*entropy).await?;
            let (cluster, base, snapshot) = (recovered.cluster, recovered.revision, recovered.snapshot.clone());
            recovered.finish()?;
            Ok(Founded { cluster, certain, base, largest, snapshot })
        });
        Ok((seat, founded?))
    }

    fn options(&self, cluster: &Cluster, seat: Seat) -> RecoveryOptions {
        let node = cluster.member(seat).unwrap_or_default();
        let lie = self.broken.filter(|broken| *broken == Broken::ForgetfulRecovery);
        RecoveryOptions {
            node,
            cluster: cluster.id(),
            naming: "svc".to_owned(),
            peer: peer(seat),
            disk: broken::disk(lie, cluster.disk(seat)),
            directory: PathBuf::from(folder(seat, node)),
        }
    }
}

/// The voters that a disaster leaves: at least one that is there, and no quorum.
fn spared(rng: &mut StdRng, voters: u64, is_there: impl Fn(Seat) -> bool) -> Vec<Seat> {
    // One of them may be out just now.
    let mut there: Vec<Seat> = (1..=voters).filter(|seat| is_there(*seat)).collect();
    there.shuffle(rng);
    there.truncate(rng.random_range(1..=there.len() / 2));
    there
}

/// Whether a file holds entries of a log, or will: entries wait, and are nowhere yet, until the segment that they go to is made.
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
                let spared = spared(&mut StdRng::seed_from_u64(seed), voters, |seat| seat != out);
                assert!(!spared.is_empty() && !spared.contains(&out), "{spared:?} of {voters} without {out}");
                assert!(spared.len() as u64 <= voters / 2, "{spared:?} of {voters}");
            }
        }
    }
}
