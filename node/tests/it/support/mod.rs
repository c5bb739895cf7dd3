//! What the tests with real processes need: clusters that end with the test, on loopback or in
//! containers, an HTTP client, kubectl.

mod balancer;
mod client;
mod cluster;
mod collector;
mod compose;
mod helm;
mod kubectl;
mod receiver;
mod tools;
mod watcher;

pub(crate) use balancer::Balancer;
pub(crate) use client::{Answer, Client};
pub(crate) use cluster::{Cluster, free_port, quorate};
pub(crate) use collector::{Collector, Told, attribute, attribute_text, hexadecimal};
pub(crate) use compose::{API_NODE, Compose, Disks, VOTERS, deploy_image};
pub(crate) use helm::Helm;
pub(crate) use kubectl::Kubectl;
pub(crate) use receiver::{Mood, Receiver};
pub(crate) use tools::skip;
pub(crate) use watcher::{Event, Watcher};

use std::time::{Duration, Instant};

/// How long anything may take that is expected to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Tries until it works; panics with what is missing when that takes too long.
pub(crate) async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = attempt().await {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
