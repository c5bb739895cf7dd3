//! What clients of the API do, and what they remember of it.
//!
//! Declarations only: `told` is what is remembered, `actor` reads and writes, `choice` says what it tries next, `pages` reads
//! collections in pieces, `janitor` waits for the end of a round and clears up, `watcher` watches.

mod actor;
mod choice;
mod janitor;
mod pages;
mod told;
mod watcher;

pub(crate) use actor::act;
pub(crate) use janitor::clear_up;
pub(crate) use told::{Exchange, Progress, Records, WatchRun, What};
pub(crate) use watcher::watch;

use std::sync::Arc;
use std::time::Duration;

use quorate_env::Env;
use rustls::ClientConfig;

use crate::api::BrokenApi;
use crate::rounds::Rounds;

/// Namespaces that stay.
pub(crate) const LASTING: [&str; 2] = ["w0", "w1"];
/// Namespaces that come and go.
pub(crate) const PASSING: [&str; 2] = ["t0", "t1"];
/// Values of the label that clients select by.
pub(crate) const COLORS: [&str; 3] = ["red", "green", "blue"];

/// Who a client is and what it works with.
pub(crate) struct Person {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    /// The nodes that it knows.
    pub(crate) nodes: Vec<u64>,
    /// How many actors there are.
    pub(crate) actors: u64,
    pub(crate) env: Env,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) broken: Option<BrokenApi>,
    pub(crate) progress: Progress,
    /// Its longest pause between two questions.
    pub(crate) think: Duration,
    pub(crate) rounds: Rounds,
}
