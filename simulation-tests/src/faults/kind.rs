//! The kinds of faults, and how one is drawn from a seed.
//!
//! Declarations only: what a fault does is in the parent and in `network`.

use std::collections::BTreeSet;

use clap::ValueEnum;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::topology::HostId;

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum FaultKind {
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
    /// A process stands still, as others see it: nothing comes or goes, its log's disk
    /// hangs, and in the end all its time has passed at once. What it does by itself meanwhile, it
    /// does: it may give its leadership up before it wakes up.
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
    /// The process dies, and finds no archive when it starts again.
    LostArchive,
    /// The process dies, and something in its archive decays.
    DecayedArchive,
    /// Two processes die, and each finds the other's archive when it starts again.
    SwappedArchives,
    /// The archive's disk is full.
    FullArchive,
}

/// How many of about a hundred faults are of each kind.
const WEIGHTS: [(FaultKind, u32); 29] = [
    (FaultKind::IsolatedNode, 8),
    (FaultKind::OneWayCut, 5),
    (FaultKind::PartialCut, 5),
    (FaultKind::DeafNode, 3),
    (FaultKind::MuteNode, 3),
    (FaultKind::Split, 4),
    (FaultKind::FlappingNode, 3),
    (FaultKind::Delay, 6),
    (FaultKind::Loss, 4),
    (FaultKind::ClogLink, 4),
    (FaultKind::ClogNode, 6),
    (FaultKind::Pause, 5),
    (FaultKind::VanishedClient, 3),
    (FaultKind::Kill, 8),
    (FaultKind::PowerCut, 11),
    (FaultKind::PowerCutInCall, 6),
    (FaultKind::PowerCutAll, 3),
    (FaultKind::RollingRestart, 1),
    (FaultKind::FailedSync, 4),
    (FaultKind::FailedStateSync, 3),
    (FaultKind::SlowSync, 4),
    (FaultKind::FullDisk, 2),
    (FaultKind::ClockJump, 3),
    (FaultKind::ClockDrift, 3),
    (FaultKind::CrashInInstall, 6),
    (FaultKind::LostArchive, 2),
    (FaultKind::DecayedArchive, 4),
    (FaultKind::SwappedArchives, 2),
    (FaultKind::FullArchive, 3),
];

impl FaultKind {
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
    pub(super) kind: FaultKind,
    pub(super) node: HostId,
    /// Another node.
    pub(super) other: HostId,
    /// Decides how bad it is.
    pub(super) seed: u64,
    /// A group of nodes.
    pub(super) group: BTreeSet<HostId>,
}

impl Fault {
    /// A fault among nodes 1 to `nodes`.
    pub(super) fn draw(rng: &mut StdRng, nodes: u64, only: &[FaultKind]) -> Self {
        let node = rng.random_range(1..=nodes);
        let other = (node - 1 + rng.random_range(1..nodes)) % nodes + 1;
        let group = (1..=nodes).filter(|_| rng.random()).collect();
        Self { kind: FaultKind::draw(rng, only), node, other, seed: rng.random(), group }
    }

    /// A number between these two, always the same for the same fault.
    pub(super) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.seed % (high - low + 1)
    }
}
