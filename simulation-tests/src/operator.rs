//! The operator: has a target membership, and asks the leader for changes until the cluster has it.
//!
//! What is wanted changes with the seed while faults go on: members are taken out (also the
//! leader), come back with an empty disk as a new member, learners are promoted, disks decay or are
//! replaced by older copies, the leadership is handed over. Everything is asked for through the
//! leader's administration, and asked again when the answer is lost.
//!
//! Invariants: of the voters from the start at most one at a time is taken out or on its way back,
//! and none while a change of the voters is half done, so a quorum stays possible; a member that
//! has lost its disk, or has an older copy of it, comes back under a new number, also once healed;
//! once healed the cluster is wanted as it was in the beginning.

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
use crate::cluster::Cluster;
use crate::node::{AdminReply, Command};
use crate::plan::Plan;
use crate::topology::{HostId, peer};

/// Pause between two checks of the members.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// After this an answer does not come any more.
const ANSWER_LIMIT: Duration = Duration::from_secs(6);
/// Longest pause between two changes of the target, milliseconds.
const MAX_CHANGE_PAUSE_MS: u64 = 8000;
/// Longest time from the copy of a disk until it is put back, milliseconds.
const MAX_COPY_AGE_MS: u64 = 2000;
/// The first of the changes that are about copies of disks.
const COPY: u32 = 10;
/// The number of kinds of changes.
const ALL: u32 = 13;
/// Longest time that a removed member stays as it is, milliseconds.
const MAX_LEFTOVER_MS: u64 = 3000;

/// The target for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Voter,
    Learner,
    Absent,
}

/// The operator of a run.
pub(crate) struct Operator {
    rng: StdRng,
    /// What is wanted in the end.
    usual: BTreeMap<HostId, Want>,
    wanted: BTreeMap<HostId, Want>,
    /// An answer that has not come yet, and until when it may.
    asked: Option<(AdminReply, Duration)>,
    /// Members that were removed and still run, until when.
    leftovers: BTreeMap<HostId, Duration>,
    next_check: Duration,
    next_change: Duration,
    /// The kinds of changes that it may choose.
    kinds_of_change: Range<u32>,
    /// The host whose disk was copied, and when the copy is put back.
    copied: Option<(HostId, Duration)>,
    /// The host whose disk has just been replaced by an older copy.
    returning: Option<HostId>,
    healed: bool,
    counts: BTreeMap<&'static str, u64>,
}

impl Operator {
    /// Wants what the plan says.
    pub(crate) fn new(seed: u64, plan: &Plan) -> Self {
        let want = |host| match host {
            host if host <= plan.voters => (host, Want::Voter),
            host if host <= plan.nodes => (host, Want::Learner),
            host => (host, Want::Absent),
        };
        let usual: BTreeMap<HostId, Want> = (1..=plan.hosts).map(want).collect();
        Self {
            rng: StdRng::seed_from_u64(seed),
            wanted: usual.clone(),
            usual,
            asked: None,
            leftovers: BTreeMap::new(),
            next_check: Duration::ZERO,
            next_change: Duration::MAX,
            // Where copies of disks are trusted, they are what matters.
            kinds_of_change: if plan.broken == Some(Broken::TrustedDisk) {
                COPY..ALL
            } else {
                0..ALL
            },
            copied: None,
            returning: None,
            healed: false,
            counts: BTreeMap::new(),
        }
    }

    /// Does what is due.
    pub(crate) fn step(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let now = sim.elapsed();
        self.return_to_copy(sim, cluster)?;
        if cluster.is_calm() {
            return Ok(());
        }
        if !self.healed && now >= self.next_change {
            self.next_change =
                now + Duration::from_millis(self.rng.random_range(500..MAX_CHANGE_PAUSE_MS));
            self.change_target(sim, cluster)?;
        }
        if now < self.next_check {
            return Ok(());
        }
        self.next_check = now + CHECK_INTERVAL;
        if let Some((reply, until)) = &self.asked {
            if reply.lock().is_none() && now < *until {
                return Ok(());
            }
            self.asked = None;
        }
        let Some((leader, replica)) = cluster.leader() else {
            return Ok(());
        };
        let members = replica.members();
        for (host, want) in self.wanted.clone() {
            if let Some(request) = self.missing(sim, cluster, &members, (host, want))? {
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
        (self.healed, self.next_change) = (false, from);
    }

    /// Whether the members are those that are wanted, as far as their leader knows.
    pub(crate) fn is_content(&self, cluster: &Cluster) -> bool {
        let Some((_, replica)) = cluster.leader() else {
            return false;
        };
        self.asked.is_none() && are_so(cluster, &replica, &self.wanted)
    }

    /// What was asked for.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    fn ask(&mut self, cluster: &Cluster, leader: HostId, request: AdminRequest, now: Duration) {
        tracing::info!(?request, leader, "the operator asks");
        let reply = AdminReply::default();
        cluster.command(leader, Command::Ask(request, reply.clone()));
        self.asked = Some((reply, now + ANSWER_LIMIT));
    }

    /// Puts the copy of a disk back when it is time, and lets the member start from it while
    /// nothing else goes wrong: its witnesses shall be there. Whatever comes of it, the member is
    /// replaced.
    fn return_to_copy(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        if let Some(host) = self.returning {
            if !cluster.runs(sim, host) || cluster.replica(host).is_some() {
                self.returning = None;
                cluster.set_calm(false);
                if !self.healed {
                    self.wanted.insert(host, Want::Absent);
                }
            }
            return Ok(());
        }
        let Some((host, _)) = self.copied.filter(|(_, due)| sim.elapsed() >= *due) else {
            return Ok(());
        };
        if cluster.is_calm() {
            (self.copied, self.returning) = (None, Some(host));
            cluster.restart(sim, host);
            return Ok(());
        }
        let Some((at, leader)) = cluster.leader() else {
            return Ok(());
        };
        // A member may have gone since the copy was made: then the others could not do without this
        // one.
        let all_here = self.wanted == self.usual && are_so(cluster, &leader, &self.usual);
        if all_here
            && !self.healed
            && others_know_its_vote(cluster, (at, &leader), host)
            && cluster.go_back(sim, host)
        {
            *self.counts.entry("disks turned back").or_default() += 1;
            cluster.set_calm(true);
        } else {
            self.copied = None;
        }
        Ok(())
    }

    fn change_target(&mut self, sim: &mut Sim<'_>, cluster: &Cluster) -> io::Result<()> {
        let Some((leader, replica)) = cluster.leader() else {
            return Ok(());
        };
        if self.asked.is_some() || !are_so(cluster, &replica, &self.wanted) {
            return Ok(());
        }
        let out = self
            .wanted
            .iter()
            .find(|(host, want)| self.usual[*host] != **want)
            .map(|(host, _)| *host);
        let any = self.rng.random_range(1..=self.wanted.len() as u64);
        match (out, self.rng.random_range(self.kinds_of_change.clone())) {
            (Some(out), 0..7) => {
                self.wanted.insert(out, self.usual[&out]);
            }
            (_, 0..4) => {
                *self.counts.entry("transfers asked").or_default() += 1;
                self.ask(cluster, leader, AdminRequest::Transfer(None), sim.elapsed());
            }
            (None, 4..6) => {
                self.wanted.insert(leader, Want::Absent);
            }
            (None, 6..8) => {
                self.wanted.insert(any, Want::Absent);
            }
            (None, 8) => {
                if let Some(damage) = cluster.decay(sim, any, self.rng.random())? {
                    *self.counts.entry(damage.kind).or_default() += 1;
                }
                self.wanted.insert(any, Want::Absent);
            }
            (None, COPY..) => {
                let may = |copied: Replica| {
                    let stands =
                        Some(copied.positions().vote.leader_id.node_id) == cluster.member(any);
                    !stands && same(&copied.members(), &replica.members())
                };
                if cluster.replica(any).is_some_and(may) {
                    cluster.back_up(any);
                    let after = Duration::from_millis(self.rng.random_range(100..MAX_COPY_AGE_MS));
                    self.copied = Some((any, sim.elapsed() + after));
                }
            }
            (None, _) if self.usual[&any] != Want::Voter => {
                let better =
                    if self.usual[&any] == Want::Learner { Want::Voter } else { Want::Learner };
                self.wanted.insert(any, better);
            }
            _ => {}
        }
        Ok(())
    }

    /// What has to be asked for next, for this host.
    fn missing(
        &mut self,
        sim: &mut Sim<'_>,
        cluster: &Cluster,
        members: &[Member],
        (host, want): (HostId, Want),
    ) -> Result<Option<AdminRequest>, Box<dyn std::error::Error>> {
        let here = members.iter().find(|member| member.address == peer(host).address);
        Ok(match (here, cluster.member(host)) {
            (None, Some(_)) => {
                self.free_host(sim, cluster, host);
                None
            }
            (None, None) => (want != Want::Absent).then(|| AdminRequest::Add(peer(host))),
            (Some(member), _)
                if want == Want::Absent
                    || cluster.had(host, member.node)
                    || cluster.is_lost(host) =>
            {
                Some(AdminRequest::Remove(member.node))
            }
            (Some(member), None) => {
                cluster.install(sim, host, member.node)?;
                None
            }
            (Some(member), Some(_)) => match (want, member.role) {
                (Want::Voter, Role::Learner) => Some(AdminRequest::Promote(member.node)),
                (Want::Learner, Role::Voter | Role::Leader) => {
                    Some(AdminRequest::Remove(member.node))
                }
                _ => None,
            },
        })
    }

    /// A member that was removed runs for a while yet; then its host is free.
    fn free_host(&mut self, sim: &mut Sim<'_>, cluster: &Cluster, host: HostId) {
        let leftover = Duration::from_millis(self.rng.random_range(1..MAX_LEFTOVER_MS));
        let until = *self.leftovers.entry(host).or_insert(sim.elapsed() + leftover);
        if sim.elapsed() >= until || self.healed {
            self.leftovers.remove(&host);
            cluster.vacate(sim, host);
        }
    }
}

/// Whether the members are as wanted for certain, as far as their leader knows: while a change of
/// the voters is half done, the loss of one may cost the quorum.
fn are_so(cluster: &Cluster, leader: &Replica, wanted: &BTreeMap<HostId, Want>) -> bool {
    let members = leader.members();
    leader.positions().settled
        && wanted.iter().all(|(host, want)| is_so(cluster, &members, *host, *want))
}

/// Whether every vote of the member on a host is known to another running member. A follower's last
/// vote was for its leader, which knows of it once it was answered; a leader's was for itself, and
/// the members that voted with it know, which may be any.
fn others_know_its_vote(cluster: &Cluster, (at, leader): (HostId, &Replica), host: HostId) -> bool {
    if host == at {
        return cluster
            .hosts()
            .all(|other| cluster.member(other).is_none() || cluster.replica(other).is_some());
    }
    let vote = cluster.replica(host).map(|replica| replica.positions().vote);
    let answered = cluster.member(host).is_some_and(|node| leader.heard().contains_key(&node));
    answered && vote == Some(leader.positions().vote)
}

/// Whether these are the same members, and the same voters: a member that knows other ones, or
/// none, asks the wrong ones whether its disk is an older copy.
fn same(some: &[Member], others: &[Member]) -> bool {
    let votes = |member: &Member| (member.node, member.role == Role::Learner);
    some.iter().map(votes).eq(others.iter().map(votes))
}

fn is_so(cluster: &Cluster, members: &[Member], host: HostId, want: Want) -> bool {
    let here = members.iter().find(|member| member.address == peer(host).address);
    match (want, here) {
        _ if cluster.is_lost(host) => false,
        (Want::Absent, here) => here.is_none() && cluster.member(host).is_none(),
        (_, None) => false,
        (want, Some(member)) => {
            cluster.member(host) == Some(member.node)
                && (member.role == Role::Learner) == (want == Want::Learner)
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
