//! The contract of watches over three members, against a model: random transactions through random
//! members, watches that are cut off and resume on any member, members that vanish and come back,
//! history that goes.
//!
//! Batches are ordered, unique, complete, whole and filtered; positions are true; a client that
//! asks for what a member no longer keeps is told so and never gets a gap. `QUORATE_CONTRACT_SEEDS`
//! says how many random histories are tried.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod client;
mod model;

use client::Client;
use model::Model;
use quorate_store::{Error, NodeId, Outcome, Retention, Revision, Store};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::cluster::{Cluster, Tuning, eventually, within};

/// Histories that are tried unless the environment says otherwise.
const SEEDS: u64 = 3;
/// What happens in each.
const STEPS: usize = 250;
const CLIENTS: usize = 6;
/// Bytes of history that members keep: some forty transactions.
const HISTORY_BYTES: u64 = 16 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn random_histories_keep_the_contract() {
    let seeds = std::env::var("QUORATE_CONTRACT_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let mut compacted = 0;
    for seed in 0..seeds {
        // Shown when it fails.
        println!("seed {seed}");
        compacted += history(seed).await;
    }
    assert!(compacted > 0, "no history was ever gone");
}

/// One history; gives how often a client was told that what it needs is gone.
async fn history(seed: u64) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let retention = Retention { bytes: HISTORY_BYTES, ..Retention::default() };
    let mut cluster = Cluster::tuned(3, Tuning { retention, ..Tuning::default() }).await;
    let mut model = Model::new(cluster.replica(1).read_index().await.unwrap());
    let mut clients: Vec<Client> =
        (0..CLIENTS).map(|_| Client::new(&mut random, model.begun())).collect();
    for _ in 0..STEPS {
        match random.random_range(0..100) {
            0..60 => write(&cluster, &mut model, &mut random).await,
            60..65 => check_past(&cluster, &model, &mut random),
            65 => {
                let node = any(&cluster, &mut random);
                clients.iter_mut().for_each(|client| client.leave(node));
                restart(&mut cluster, node).await;
            }
            _ => {
                let index = random.random_range(0..CLIENTS);
                let node = any(&cluster, &mut random);
                clients[index].act(&cluster.store(node), &model, &mut random).await;
            }
        }
    }
    for client in &mut clients {
        let node = any(&cluster, &mut random);
        client.settle(&cluster.store(node), &model).await;
    }
    cluster.converge(model.newest()).await;
    clients.iter().map(Client::compactions).sum()
}

fn any(cluster: &Cluster, random: &mut StdRng) -> NodeId {
    *cluster.nodes().choose(random).unwrap()
}

/// Commits one transaction through any member, exactly once.
async fn write(cluster: &Cluster, model: &mut Model, random: &mut StdRng) {
    let txn = model.propose(random);
    let store = cluster.store(any(cluster, random));
    let revision = eventually("the transaction is decided", async || {
        match store.txn(txn.clone()).await {
            Ok(Outcome::Committed { revision }) => Some(revision),
            // An attempt before this one was carried out after all, and only that one could be.
            Ok(Outcome::Conflict { current, .. }) => {
                Some(current.expect("a transaction was").modified)
            }
            Err(Error::NotApplied(_) | Error::Unknown(_)) => None,
        }
    })
    .await;
    assert_eq!(revision, model.newest().next(), "the test is the only writer");
    model.commit(revision, &txn.operations);
}

/// A state of before is what it was, or is said to be gone, by what the member itself says of its
/// history.
fn check_past(cluster: &Cluster, model: &Model, random: &mut StdRng) {
    let store = cluster.store(any(cluster, random));
    let at = Revision::new(random.random_range(model.begun().get()..=model.newest().get()));
    let status = store.status();
    match store.snapshot_at(at) {
        Ok(snapshot) => assert_eq!(model::contents(&snapshot), model.state_at(at), "at {at}"),
        Err(error) => assert!(
            at < store.status().oldest || at > status.applied,
            "{error} at {at}: {status:?}"
        ),
    }
}

/// A member vanishes and comes back.
async fn restart(cluster: &mut Cluster, node: NodeId) {
    cluster.halt(node).await;
    cluster.open(node).await;
    within("the member recovers", cluster.replica(node).recovered()).await;
}
