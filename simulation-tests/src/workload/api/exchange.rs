//! Requests of the API's clients and their replies.

use std::time::Duration;

use serde_json::Value;

use crate::api::{ApiReply, ApiRequest};
use crate::workload::record::{self, Call};

/// A request and its reply.
#[derive(Debug, Clone)]
pub(crate) struct ApiCall {
    pub(crate) ask: ApiRequest,
    /// `None` when no whole answer came.
    pub(crate) reply: Option<ApiReply>,
}

impl Call for ApiCall {
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
    pub(crate) ask: ApiRequest,
    /// Every line, with the time when it came.
    pub(crate) lines: Vec<(Duration, Value)>,
    /// When the server ended the stream; `None` when it broke, or the client went first.
    pub(crate) ended: Option<Duration>,
    /// The answer instead of a stream, with the time when it came.
    pub(crate) refused: Option<(Duration, ApiReply)>,
}

pub(crate) type ApiExchange = record::Exchange<ApiCall>;
pub(crate) type ApiRecords = record::Records<ApiCall, WatchRun>;
pub(crate) type ApiProgress = record::Progress<ApiCall, WatchRun>;
