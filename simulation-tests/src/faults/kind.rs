//! The kinds of faults, and how one is drawn from a seed.
//!
//! Declarations only: what a fault does is in the parent and in `network`.

use std::collections::BTreeSet;

use clap::ValueEnum;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::cluster::Seat;

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Kind {
    /// Nothing passes between a node and the other nodes.
    IsolatedNode,
    /// Nothing passes from one node to another.
    OneWayCut,
    /// Nothing passes between two nodes; others may reach both.
    PartialCut,
    /// A node hears nothing of the others, and they hear it.
    DeafNode,
    /// A node hears the others, and they do not hear it.
    MuteNode,
    /// The nodes are in two groups that do not hear each other.
    Split,
    /// A node's links go and come back, again and again.
    FlappingNode,
    /// Messages between two nodes take long.
    Delay,
    /// Some messages between two nodes are lost, and with them their connections.
    Loss,
    /// Messages between two nodes are kept, and then all delivered.
    ClogLink,
    /// Messages from and to a node are kept, and then all delivered.
    ClogNode,
    /// A process stands still, as far as anybody can tell: nothing comes or goes, its log's disk hangs, and in the end all its time has
    /// passed at once. What it does by itself meanwhile, it does: it may give its leadership up before it wakes up.
    Pause,
    /// A client's connections go silent without being closed.
    VanishedClient,
    /// The process dies.
    Kill,
    /// The power goes.
    PowerCut,
    /// The power goes during one of the next calls to the log's disk.
    PowerCutInCall,
    /// The power of all nodes goes at once.
    PowerCutAll,
    /// One node after the other is killed and started again.
    RollingRestart,
    /// A sync of the log's disk fails; half the time the power goes some time after.
    FailedSync,
    /// A sync of the state's disk fails.
    FailedStateSync,
    /// Syncs take long.
    SlowSync,
    /// The log's disk is full.
    FullDisk,
    /// The wall clock jumps, forwards or back.
    ClockJump,
    /// The wall clock goes too fast or too slow; timers that go fast go with it.
    ClockDrift,
    /// The process dies, or the power goes, while a snapshot is coming in or being installed.
    CrashInInstall,
}

/// How many of about a hundred faults are of each kind.
const WEIGHTS: [(Kind, u32); 25] = [
    (Kind::IsolatedNode, 8),
    (Kind::OneWayCut, 5),
    (Kind::PartialCut, 5),
    (Kind::DeafNode, 3),
    (Kind::MuteNode, 3),
    (Kind::Split, 4),
    (Kind::FlappingNode, 3),
    (Kind::Delay, 6),
    (Kind::Loss, 4),
    (Kind::ClogLink, 4),
    (Kind::ClogNode, 6),
    (Kind::Pause, 5),
    (Kind::VanishedClient, 3),
    (Kind::Kill, 8),
    (Kind::PowerCut, 11),
    (Kind::PowerCutInCall, 6),
    (Kind::PowerCutAll, 3),
    (Kind::RollingRestart, 1),
    (Kind::FailedSync, 4),
    (Kind::FailedStateSync, 3),
    (Kind::SlowSync, 4),
    (Kind::FullDisk, 2),
    (Kind::ClockJump, 3),
    (Kind::ClockDrift, 3),
    (Kind::CrashInInstall, 6),
];

impl Kind {
    /// One of these kinds, or of all.
    fn draw(rng: &mut StdRng, only: &[Self]) -> Self {
        let among = |(kind, _): &&(Self, u32)| only.is_empty() || only.contains(kind);
        let choices: Vec<&(Self, u32)> = WEIGHTS.iter().filter(among).collect();
        let chosen = choices.choose_weighted(rng, |(_, weight)| *weight);
        chosen.map_or(Self::Kill, |(kind, _)| *kind)
    }

    /// As options and reports spell it.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// One fault: its kind, whom it concerns, and whatever numbers it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) node: Seat,
    /// Another node.
    pub(super) other: Seat,
    /// Decides how bad it is.
    pub(super) seed: u64,
    /// A group of nodes.
    pub(super) group: BTreeSet<Seat>,
}

impl Fault {
    /// A fault among nodes 1 to `nodes`.
    pub(super) fn draw(rng: &mut StdRng, nodes: u64, only: &[Kind]) -> Self {
        let node = rng.random_range(1..=nodes);
        let other = (node - 1 + rng.random_range(1..nodes)) % nodes + 1;
        let group = (1..=nodes).filter(|_| rng.random()).collect();
        Self { kind: Kind::draw(rng, only), node, other, seed: rng.random(), group }
    }

    /// A number between these two, always the same for the same fault.
    pub(super) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.seed % (high - low + 1)
    }
}
