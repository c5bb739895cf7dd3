//! What clients of the API ask, and what they are told.

use std::time::Duration;

use serde_json::Value;

use crate::api::{Ask, Reply};
use crate::workload::record::{self, Asked};

/// A question and its answer.
#[derive(Debug, Clone)]
pub(crate) struct What {
    pub(crate) ask: Ask,
    /// `None` when no whole answer came.
    pub(crate) reply: Option<Reply>,
}

impl Asked for What {
    fn revision(&self) -> Option<u64> {
        self.reply.as_ref().filter(|reply| reply.is_success())?.version()
    }
}

/// One connection of a watcher.
#[derive(Debug, Clone)]
pub(crate) struct WatchRun {
    pub(crate) client: u64,
    pub(crate) node: u64,
    pub(crate) asked: Duration,
    pub(crate) ask: Ask,
    /// Every line, with the time when it came.
    pub(crate) lines: Vec<(Duration, Value)>,
    /// The answer instead of a stream, with the time when it came.
    pub(crate) refused: Option<(Duration, Reply)>,
}

pub(crate) type Exchange = record::Exchange<What>;
pub(crate) type Records = record::Records<What, WatchRun>;
pub(crate) type Progress = record::Progress<What, WatchRun>;
