//! What is counted of calls, and the seam to what exports it.

use std::fmt::Debug;
use std::time::Duration;

use http::StatusCode;

/// A call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallEnd<'c> {
    /// The server, `host:port`.
    pub host: &'c str,
    /// The status of the answer; `None` where there is none.
    pub status: Option<StatusCode>,
    /// Bytes of the request's body.
    pub sent: usize,
    /// Bytes of the answer's body.
    pub received: usize,
    /// How long it took.
    pub took: Duration,
}

/// Counts calls.
pub trait CallMetrics: Debug + Send + Sync {
    /// A call has ended, well or not.
    fn ended(&self, call: &CallEnd<'_>);
    /// A request is sent a second time, because its connection broke.
    fn sent_again(&self, host: &str);
}
