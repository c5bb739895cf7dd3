//! The workload of the API's clients, and its records.
//!
//! Declarations only: `exchange` has the requests and replies, `actor` reads and writes and ends a
//! round, `watcher` watches.

mod actor;
mod exchange;
mod watcher;

pub(crate) use actor::Actor;
pub(in crate::workload) use actor::{
    HEALING, ObjectId, RETRY_PAUSE, definitions, is_held, policies,
};
pub(crate) use actor::{act, choose, clear_up};
pub(crate) use exchange::{ApiCall, ApiExchange, ApiProgress, ApiRecords, WatchRun};
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

/// The settings of one client.
pub(crate) struct ClientSetup {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    /// The nodes that it knows.
    pub(crate) nodes: Vec<u64>,
    /// How many actors there are.
    pub(crate) actors: u64,
    pub(crate) env: Env,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) broken: Option<BrokenApi>,
    pub(crate) progress: ApiProgress,
    /// Its longest pause between two requests.
    pub(crate) think: Duration,
    pub(crate) rounds: Rounds,
}
