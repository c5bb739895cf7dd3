//! The contract of watches and lists (Kubernetes API concepts, "Efficient detection of changes" and
//! "Retrieving large results sets in chunks") against a model: random writes through random
//! servers, clients that watch with selectors and are cut off, resume and list anywhere, history
//! that is compacted.
//!
//! What clients are told is ordered, unique, complete and filtered; bookmarks are true; a client
//! that asks for what is gone gets 410 and never a gap; pages show one state.
//! `QUORATE_CONTRACT_SEEDS` says how many random histories are tried.

mod client;
mod model;
mod pages;
mod world;

use client::Client;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use world::World;

/// Histories that are tried unless the environment says otherwise.
const SEEDS: u64 = 12;
/// What happens in each.
const STEPS: usize = 250;
const CLIENTS: usize = 8;

#[tokio::test(start_paused = true)]
async fn random_histories_keep_the_contract() {
    let seeds = std::env::var("QUORATE_CONTRACT_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let mut expired = 0;
    for seed in 0..seeds {
        // Shown when it fails.
        println!("seed {seed}");
        expired += history(seed).await;
    }
    assert!(expired > 0, "no history was ever gone");
}

/// One history; gives how often a client was told that its version is gone.
async fn history(seed: u64) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let mut world = World::new().await;
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::new(&mut random)).collect();
    for _ in 0..STEPS {
        match random.random_range(0..20) {
            0..9 => world.write(&mut random).await,
            9 => world.wait(&mut random),
            10 => pages::check(&mut world, &mut random).await,
            _ => {
                let index = random.random_range(0..CLIENTS);
                clients[index].act(&world, &mut random).await;
            }
        }
    }
    for client in &mut clients {
        client.settle(&world, &mut random).await;
    }
    clients.iter().map(Client::expirations).sum()
}
