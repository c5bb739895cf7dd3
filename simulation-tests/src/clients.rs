//! The clients of a run: their hosts, whether they leave the cluster at rest, and the verdict on
//! their records.
//!
//! Invariant: every client has a host of its own and a seed of its own.

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use quorate_store::{Batch, NodeId, Outcome, Retention, Snapshot};
use rand::Rng;
use rand::rngs::StdRng;
use turmoil::Sim;

use crate::api::ApiPlan;
use crate::checkers::{self, LostQuorum, Samples};
use crate::env::env;
use crate::rounds::Rounds;
use crate::trace::Trace;
use crate::workload::api::{self, ClientSetup};
use crate::workload::{
    self, Decision, Seen, StoreCall, Workload, definitions, policies, watcher::Watcher,
    writer::Writer,
};

/// Clients that write and read.
const WRITERS: u64 = 3;
/// Clients that watch.
const WATCHERS: u64 = 2;
/// Clients that watch collections of the API.
const API_WATCHERS: u64 = 3;

/// What clients start with.
pub(crate) struct Options<'a> {
    /// The nodes that they know.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) trace: &'a Trace,
    /// The longest pause of each between two questions.
    pub(crate) think: Duration,
    pub(crate) rounds: Rounds,
    /// What those of the API work with.
    pub(crate) workload: Workload,
}

/// The clients and their records.
pub(crate) enum Clients {
    /// Of the store.
    Store(workload::StoreProgress),
    /// Of the API.
    Api(api::ApiProgress),
    /// Of custom resources of the API.
    Definitions(api::ApiProgress),
    /// Of the API and its admission policies.
    Policies(api::ApiProgress),
}

impl Clients {
    /// Registers the hosts of clients of the store.
    pub(crate) fn of_store(sim: &mut Sim<'_>, rng: &mut StdRng, options: &Options<'_>) -> Self {
        let (all, nodes) = (workload::StoreProgress::default(), options.nodes.len() as u64);
        for client in 1..=WRITERS {
            let (seed, progress, rounds) = (rng.random(), all.clone(), options.rounds.clone());
            let env = env(seed, 0, options.trace.clone());
            let think = options.think;
            let writer = Writer { client, seed, nodes, env, progress, think, rounds };
            sim.client(format!("writer{client}"), async move {
                Box::pin(workload::work(writer)).await;
                Ok(())
            });
        }
        for watcher in 1..=WATCHERS {
            let (seed, progress, rounds) = (rng.random(), all.clone(), options.rounds.clone());
            let env = env(seed, 0, options.trace.clone());
            let watching = Watcher { seed, nodes, writers: WRITERS, env, progress, rounds };
            sim.client(format!("watcher{watcher}"), async move {
                Box::pin(workload::watch(watching)).await;
                Ok(())
            });
        }
        Self::Store(all)
    }

    /// Registers the hosts of clients of the API.
    pub(crate) fn of_api(
        sim: &mut Sim<'_>,
        rng: &mut StdRng,
        options: &Options<'_>,
        plan: &ApiPlan,
    ) -> Result<Self, Box<dyn Error>> {
        let progress = api::ApiProgress::default();
        let mut setup = |number| -> Result<ClientSetup, Box<dyn Error>> {
            let seed = rng.random();
            let tls = plan.administrator(&format!("person{number}"), rng.random())?;
            Ok(ClientSetup {
                number,
                seed,
                nodes: options.nodes.clone(),
                actors: WRITERS,
                env: env(seed, 0, options.trace.clone()),
                tls,
                broken: plan.broken(),
                progress: progress.clone(),
                think: options.think,
                rounds: options.rounds.clone(),
            })
        };
        let with_definitions = options.workload == Workload::Definitions;
        let choose = match options.workload {
            Workload::Definitions => definitions::choose,
            Workload::Policies => policies::choose,
            Workload::Store | Workload::Api => api::choose,
        };
        for number in 1..=WRITERS {
            add(sim, &format!("actor{number}"), api::act(setup(number)?, choose));
        }
        let janitor = setup(WRITERS + 1)?;
        if with_definitions {
            add(sim, "janitor", definitions::clear_up(janitor));
        } else {
            add(sim, "janitor", api::clear_up(janitor));
        }
        for number in 1..=API_WATCHERS {
            let (name, setup) = (format!("watcher{number}"), setup(WRITERS + 1 + number)?);
            if with_definitions {
                add(sim, &name, definitions::watch(setup));
            } else {
                add(sim, &name, api::watch(setup));
            }
        }
        Ok(match options.workload {
            Workload::Definitions => Self::Definitions(progress),
            Workload::Policies => Self::Policies(progress),
            Workload::Store | Workload::Api => Self::Api(progress),
        })
    }

    /// Their hosts.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let name = |what: &'static str, numbers: RangeInclusive<u64>| {
            numbers.map(move |number| format!("{what}{number}"))
        };
        match self {
            Self::Store(_) => {
                name("writer", 1..=WRITERS).chain(name("watcher", 1..=WATCHERS)).collect()
            }
            Self::Api(_) | Self::Definitions(_) | Self::Policies(_) => {
                name("actor", 1..=WRITERS).chain(name("watcher", 1..=API_WATCHERS)).collect()
            }
        }
    }

    /// Whether all have finished the round.
    pub(crate) fn rest(&self) -> bool {
        match self {
            Self::Store(progress) => progress.is_over(WRITERS, WATCHERS),
            Self::Api(progress) | Self::Definitions(progress) | Self::Policies(progress) => {
                progress.is_over(WRITERS + 1, API_WATCHERS)
            }
        }
    }

    /// The next round begins.
    pub(crate) fn begin_round(&self) {
        match self {
            Self::Store(progress) => progress.begin_round(),
            Self::Api(progress) | Self::Definitions(progress) | Self::Policies(progress) => {
                progress.begin_round();
            }
        }
    }

    /// What the cluster still has to do by itself in this state, once the clients have gone.
    pub(crate) fn unfinished(&self, state: &Snapshot) -> Option<String> {
        match self {
            Self::Store(_) => None,
            Self::Api(_) | Self::Definitions(_) | Self::Policies(_) => {
                checkers::api::unfinished(state)
            }
        }
    }

    /// Everything that is wrong, and what the clients did, by name.
    pub(crate) fn verdict(
        &self,
        histories: &[(NodeId, Vec<Arc<Batch>>)],
        samples: &Samples,
        retention: Retention,
        lost: Option<&(LostQuorum, Samples)>,
    ) -> (Vec<String>, BTreeMap<String, u64>) {
        match self {
            Self::Store(progress) => {
                let records = progress.take();
                (checkers::check(histories, &records, samples, retention, lost), counts(&records))
            }
            Self::Api(progress) => {
                let records = progress.take();
                let found = checkers::check_api(histories, &records, samples, |first| {
                    checkers::api::check(first, &records, retention)
                });
                (found, checkers::api::counts(&records))
            }
            Self::Definitions(progress) => {
                let records = progress.take();
                let found = checkers::check_api(histories, &records, samples, |first| {
                    checkers::definitions::check(first, &records, retention)
                });
                let mut counts = checkers::api::counts(&records);
                counts.extend(checkers::definitions::counts(&records));
                (found, counts)
            }
            Self::Policies(progress) => {
                let records = progress.take();
                let found = checkers::check_api(histories, &records, samples, |first| {
                    checkers::policies::check(first, &records, retention)
                });
                let mut counts = checkers::api::counts(&records);
                counts.extend(checkers::policies::counts(&records));
                (found, counts)
            }
        }
    }
}

fn add(sim: &mut Sim<'_>, name: &str, life: impl Future<Output = ()> + 'static) {
    sim.client(name, async move {
        Box::pin(life).await;
        Ok(())
    });
}

fn counts(records: &workload::StoreRecords) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut count =
        |name: &str, by: usize| *counts.entry(name.to_owned()).or_default() += by as u64;
    for exchange in &records.exchanges {
        match &exchange.what {
            StoreCall::Txn(_, Decision::Decided(Outcome::Committed { .. })) => {
                count("committed", 1)
            }
            StoreCall::Txn(_, Decision::Decided(Outcome::Conflict { .. })) => count("conflicts", 1),
            StoreCall::Txn(_, Decision::Refused) => count("refused", 1),
            StoreCall::Txn(_, Decision::Unknown) => count("unknown", 1),
            StoreCall::Read { .. } => count("reads", 1),
        }
    }
    for seen in records.watches.iter().flat_map(|watch| &watch.seen) {
        match seen {
            Seen::Batch(..) => count("watch batches", 1),
            Seen::Compacted { .. } => count("watches compacted", 1),
            Seen::Restarted(_) => count("watches restarted", 1),
        }
    }
    counts
}
