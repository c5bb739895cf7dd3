//! The operator: wants members, and asks the leader for whatever is missing until the cluster is as wanted.
//!
//! What is wanted changes with the seed while faults go on: members are taken out (also the leader), come back with an empty disk as a new
//! member, learners are promoted, disks decay or are replaced by older copies, the leadership is handed over. Everything is asked for through the leader's administration,
//! and asked again when the answer is lost.
//!
//! Invariants: of the voters from the start at most one at a time is taken out or on its way back, and none while a change of the voters is
//! half done, so a quorum stays possible; who has lost its disk, or has an older copy of it, comes back under a new number, also once
//! healed; once healed the cluster is wanted as it was in the beginning.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::time::Duration;

use quorate_raft::admin::AdminRequest;
use quorate_raft::{Member, Replica, Role};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use turmoil::Sim;

use crate::broken::Broken;
use crate::cluster::{Cluster, Plan, Seat, peer};
use crate::node::{Order, Reply};

/// Between two looks at the members.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// After this an answer does not come any more.
const PATIENCE: Duration = Duration::from_secs(6);
/// Longest pause between two changes of mind, milliseconds.
const MAX_CONTENT_MS: u64 = 8000;
/// Longest time from the copy of a disk until it is put back, milliseconds.
const MAX_COPY_AGE_MS: u64 = 2000;
/// The first of the whims that are about copies of disks.
const COPY: u32 = 10;
/// The number of whims.
const ALL: u32 = 13;
/// Longest time that a removed member stays as it is, milliseconds.
const MAX_LEFTOVER_MS: u64 = 3000;

/// What a seat shall have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Voter,
    Learner,
    Nobody,
}

/// See the module.
pub(crate) struct Operator {
    rng: StdRng,
    /// What is wanted in the end.
    usual: BTreeMap<Seat, Want>,
    wanted: BTreeMap<Seat, Want>,
    /// An answer that has not come yet, and until when it may.
    asked: Option<(Reply, Duration)>,
    /// Members that were removed and still run, until when.
    leftovers: BTreeMap<Seat, Duration>,
    next_look: Duration,
    next_whim: Duration,
    /// What it may think of.
    whims: Range<u32>,
    /// Whose disk was copied, and when the copy is put back.
    copied: Option<(Seat, Duration)>,
    /// Whose disk is an older copy since a moment.
    returning: Option<Seat>,
    healed: bool,
    counts: BTreeMap<&'static str, u64>,
}

impl Operator {
    /// Wants what the plan says.
    pub(crate) fn new(seed: u64, plan: &Plan) -> Self {
        let want = |seat| match seat {
            seat if seat <= plan.voters => (seat, Want::Voter),
            seat if seat <= plan.nodes => (seat, Want::Learner),
            seat => (seat, Want::Nobody),
        };
        let usual: BTreeMap<Seat, Want> = (1..=plan.seats).map(want).collect();
        Self {
            rng: StdRng::seed_from_u64(seed),
            wanted: usual.clone(),
            usual,
            asked: None,
            leftovers: BTreeMap::new(),
            next_look: Duration::ZERO,
            next_whim: Duration::MAX,
            // Where copies of disks are trusted, they are what matters.
            whims: if plan.broken == Some(Broken::TrustedDisk) { COPY..ALL } else { 0..ALL },
            copied: None,
            returning: None,
            healed: false,
            counts: BTreeMap::new(),
        }
    }

    /// Does what is due.
    pub(crate) fn step(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> Result<(), Box<dyn std::error::Error>> {
        let now = sim.elapsed();
        self.return_to_copy(sim, cluster)?;
        if cluster.is_calm() {
            return Ok(());
        }
        if !self.healed && now >= self.next_whim {
            self.next_whim = now + Duration::from_millis(self.rng.random_range(500..MAX_CONTENT_MS));
            self.change_mind(sim, cluster)?;
        }
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now + LOOK_EVERY;
        if let Some((reply, until)) = &self.asked {
            if reply.lock().is_none() && now < *until {
                return Ok(());
            }
            self.asked = None;
        }
        let Some((leader, replica)) = cluster.leader() else { return Ok(()) };
        let members = replica.members();
        for (seat, want) in self.wanted.clone() {
            if let Some(request) = self.missing(sim, cluster, &members, (seat, want))? {
                *self.counts.entry(name(&request)).or_default() += 1;
                self.ask(cluster, leader, request, now);
                return Ok(());
            }
        }
        Ok(())
    }

    /// From now on everything shall be as in the beginning.
    pub(crate) fn heal(&mut self) {
        self.healed = true;
        self.wanted = self.usual.clone();
    }

    /// From this time on its mind changes again.
    pub(crate) fn begin_round(&mut self, from: Duration) {
        (self.healed, self.next_whim) = (false, from);
    }

    /// Whether the members are those that are wanted, as far as their leader knows.
    pub(crate) fn is_content(&self, cluster: &Cluster) -> bool {
        let Some((_, replica)) = cluster.leader() else { return false };
        self.asked.is_none() && are_so(cluster, &replica, &self.wanted)
    }

    /// What was asked for.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    fn ask(&mut self, cluster: &Cluster, leader: Seat, request: AdminRequest, now: Duration) {
        tracing::info!(?request, leader, "the operator asks");
        let reply = Reply::default();
        cluster.order(leader, Order::Ask(request, reply.clone()));
        self.asked = Some((reply, now + PATIENCE));
    }

    /// Puts the copy of a disk back when it is time, and lets the member start from it while nothing else goes wrong: its witnesses shall
    /// be there. Whatever comes of it, the member is replaced.
    fn return_to_copy(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        if let Some(seat) = self.returning {
            if !cluster.runs(sim, seat) || cluster.replica(seat).is_some() {
                self.returning = None;
                cluster.set_calm(false);
                if !self.healed {
                    self.wanted.insert(seat, Want::Nobody);
                }
            }
            return Ok(());
        }
        let Some((seat, _)) = self.copied.filter(|(_, due)| sim.elapsed() >= *due) else { return Ok(()) };
        if cluster.is_calm() {
            (self.copied, self.returning) = (None, Some(seat));
            cluster.restart(sim, seat);
            return Ok(());
        }
        let Some((at, leader)) = cluster.leader() else { return Ok(()) };
        // Somebody may have gone since the copy was made: then the others could not do without this one.
        let all_here = self.wanted == self.usual && are_so(cluster, &leader, &self.usual);
        if all_here && !self.healed && has_witnesses(cluster, (at, &leader), seat) && cluster.go_back(sim, seat) {
            *self.counts.entry("disks turned back").or_default() += 1;
            cluster.set_calm(true);
        } else {
            self.copied = None;
        }
        Ok(())
    }

    fn change_mind(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        let Some((leader, replica)) = cluster.leader() else { return Ok(()) };
        if self.asked.is_some() || !are_so(cluster, &replica, &self.wanted) {
            return Ok(());
        }
        let out = self.wanted.iter().find(|(seat, want)| self.usual[*seat] != **want).map(|(seat, _)| *seat);
        let any = self.rng.random_range(1..=self.wanted.len() as u64);
        match (out, self.rng.random_range(self.whims.clone())) {
            (Some(out), 0..7) => {
                self.wanted.insert(out, self.usual[&out]);
            }
            (_, 0..4) => {
                *self.counts.entry("transfers asked").or_default() += 1;
                self.ask(cluster, leader, AdminRequest::Transfer(None), sim.elapsed());
            }
            (None, 4..6) => {
                self.wanted.insert(leader, Want::Nobody);
            }
            (None, 6..8) => {
                self.wanted.insert(any, Want::Nobody);
            }
            (None, 8) => {
                if let Some(damage) = cluster.decay(sim, any, self.rng.random())? {
                    *self.counts.entry(damage.kind).or_default() += 1;
                }
                self.wanted.insert(any, Want::Nobody);
            }
            (None, COPY..) => {
                let may = |copied: Replica| {
                    let stands = Some(copied.positions().vote.leader_id.node_id) == cluster.member(any);
                    !stands && same(&copied.members(), &replica.members())
                };
                if cluster.replica(any).is_some_and(may) {
                    cluster.back_up(any);
                    let after = Duration::from_millis(self.rng.random_range(100..MAX_COPY_AGE_MS));
                    self.copied = Some((any, sim.elapsed() + after));
                }
            }
            (None, _) if self.usual[&any] != Want::Voter => {
                let better = if self.usual[&any] == Want::Learner { Want::Voter } else { Want::Learner };
                self.wanted.insert(any, better);
            }
            _ => {}
        }
        Ok(())
    }

    /// What has to be asked for next, for this seat.
    fn missing(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        members: &[Member],
        (seat, want): (Seat, Want),
    ) -> Result<Option<AdminRequest>, Box<dyn std::error::Error>> {
        let here = members.iter().find(|member| member.address == peer(seat).address);
        Ok(match (here, cluster.member(seat)) {
            (None, Some(_)) => {
                self.let_go(sim, cluster, seat);
                None
            }
            (None, None) => (want != Want::Nobody).then(|| AdminRequest::Add(peer(seat))),
            (Some(member), _) if want == Want::Nobody || cluster.had(seat, member.node) || cluster.is_lost(seat) => {
                Some(AdminRequest::Remove(member.node))
            }
            (Some(member), None) => {
                cluster.seat(sim, seat, member.node)?;
                None
            }
            (Some(member), Some(_)) => match (want, member.role) {
                (Want::Voter, Role::Learner) => Some(AdminRequest::Promote(member.node)),
                (Want::Learner, Role::Voter | Role::Leader) => Some(AdminRequest::Remove(member.node)),
                _ => None,
            },
        })
    }

    /// A member that was removed runs for a while yet; then its seat is free.
    fn let_go(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, seat: Seat) {
        let leftover = Duration::from_millis(self.rng.random_range(1..MAX_LEFTOVER_MS));
        let until = *self.leftovers.entry(seat).or_insert(sim.elapsed() + leftover);
        if sim.elapsed() >= until || self.healed {
            self.leftovers.remove(&seat);
            cluster.vacate(sim, seat);
        }
    }
}

/// Whether the members are as wanted for certain, as far as their leader knows: while a change of the voters is half done, the loss of
/// one may cost the quorum.
fn are_so(cluster: &Cluster, leader: &Replica, wanted: &BTreeMap<Seat, Want>) -> bool {
    let members = leader.members();
    leader.positions().settled && wanted.iter().all(|(seat, want)| is_so(cluster, &members, *seat, *want))
}

/// Whether every vote that the member in a seat has given is known to another one that runs. A follower's last vote was for its leader, who
/// knows of it once it was answered; a leader's was for itself, and those who voted with it know, which may be any of the others.
fn has_witnesses(cluster: &Cluster, (at, leader): (Seat, &Replica), seat: Seat) -> bool {
    if seat == at {
        return cluster.seats().all(|other| cluster.member(other).is_none() || cluster.replica(other).is_some());
    }
    let vote = cluster.replica(seat).map(|replica| replica.positions().vote);
    let answered = cluster.member(seat).is_some_and(|node| leader.heard().contains_key(&node));
    answered && vote == Some(leader.positions().vote)
}

/// Whether these are the same members, and the same voters: whoever knows others, or none, asks the wrong ones whether its disk is an
/// older copy.
fn same(some: &[Member], others: &[Member]) -> bool {
    let votes = |member: &Member| (member.node, member.role == Role::Learner);
    some.iter().map(votes).eq(others.iter().map(votes))
}

fn is_so(cluster: &Cluster, members: &[Member], seat: Seat, want: Want) -> bool {
    let here = members.iter().find(|member| member.address == peer(seat).address);
    match (want, here) {
        _ if cluster.is_lost(seat) => false,
        (Want::Nobody, here) => here.is_none() && cluster.member(seat).is_none(),
        (_, None) => false,
        (want, Some(member)) => {
            cluster.member(seat) == Some(member.node) && (member.role == Role::Learner) == (want == Want::Learner)
        }
    }
}

fn name(request: &AdminRequest) -> &'static str {
    match request {
        AdminRequest::Add(_) => "additions asked",
        AdminRequest::Promote(_) => "promotions asked",
        AdminRequest::Remove(_) => "removals asked",
        _ => "other requests",
    }
}
