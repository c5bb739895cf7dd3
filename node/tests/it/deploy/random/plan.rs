//! Which faults come: drawn from a seed, so that a run can be repeated.
//!
//! Invariant: one node has a fault at a time, so a quorum of voters remains.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::super::fault::Fault;

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The voter that leads when the fault begins.
    Leader,
    /// The other voters, by their order.
    Follower(usize),
    /// The API node.
    Api,
}

/// A fault that is to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedFault {
    pub(super) target: Target,
    pub(super) fault: Fault,
    /// How long it lasts at least.
    pub(super) hold: Duration,
}

/// So many faults. The first kills the leader, which is the failover that the traces have to show;
/// the others are drawn from all there are, and none is drawn again before all have been.
pub(super) fn plan(seed: u64, count: usize, has_disks: bool) -> Vec<PlannedFault> {
    let mut random = StdRng::seed_from_u64(seed);
    let faults = Fault::ALL.into_iter().filter(|fault| has_disks || !fault.needs_disks());
    let all: Vec<(usize, Fault)> =
        faults.flat_map(|fault| (0..3).map(move |target| (target, fault))).collect();
    let mut deck: Vec<(usize, Fault)> = vec![];
    let mut planned = vec![];
    while planned.len() < count {
        if deck.is_empty() {
            deck.clone_from(&all);
            deck.shuffle(&mut random);
            if planned.is_empty() {
                deck.retain(|one| *one != (0, Fault::Kill));
                deck.push((0, Fault::Kill));
            }
        }
        let (target, fault) = deck.pop().expect("there are faults");
        let target = match target {
            0 => Target::Leader,
            1 => Target::Follower(random.random_range(0..2)),
            _ => Target::Api,
        };
        let hold = Duration::from_millis(random.random_range(500..4000));
        planned.push(PlannedFault { target, fault, hold });
    }
    planned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, count: usize, has_disks: bool) -> Vec<(Target, Fault)> {
        let planned = plan(seed, count, has_disks);
        planned.into_iter().map(|planned| (planned.target, planned.fault)).collect()
    }

    #[test]
    fn a_seed_gives_the_same_faults_and_another_gives_others() {
        assert_eq!(drawn(1, 20, true), drawn(1, 20, true));
        assert_eq!(drawn(1, 5, true), drawn(1, 20, true)[..5]);
        assert_ne!(drawn(1, 20, true), drawn(2, 20, true));
        for seed in 0..50 {
            assert_eq!(drawn(seed, 1, true), [(Target::Leader, Fault::Kill)]);
        }
    }

    #[test]
    fn every_fault_of_every_target_comes_before_one_comes_again() {
        let all = drawn(7, Fault::ALL.len() * 3, true);
        let of = |fault| all.iter().filter(|(_, other)| *other == fault).count();
        assert!(Fault::ALL.into_iter().all(|fault| of(fault) == 3), "{all:?}");
        let api = all.iter().filter(|(target, _)| *target == Target::Api).count();
        assert_eq!(api, Fault::ALL.len());
        assert!(drawn(7, 40, false).iter().all(|(_, fault)| !fault.needs_disks()));
    }
}
