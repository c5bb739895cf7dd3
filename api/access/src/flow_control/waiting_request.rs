//! What is known of a request that waits for a seat, for the operators of an overloaded server.
//!
//! Made when a request is put into a queue, never for one that executes at once.

use std::sync::Arc;

use super::work_estimate::WorkEstimate;

/// The facts of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestDetails {
    /// What tells its flow from others of the schema.
    pub distinguisher: String,
    /// When it came, in milliseconds since the Unix epoch.
    pub received_ms: u64,
    /// The name of its user.
    pub user: String,
    /// Its verb.
    pub verb: String,
    /// Its path.
    pub path: String,
    /// The namespace in the path.
    pub namespace: String,
    /// The name in the path.
    pub name: String,
    /// `GROUP/VERSION`; of the core group `VERSION`.
    pub api_version: String,
    /// The resource.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
}

/// A request in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingStatus {
    /// The name of its flow schema.
    pub flow_schema: Arc<str>,
    /// The number of its queue.
    pub queue: usize,
    /// Its place in the queue.
    pub place: usize,
    /// Its work.
    pub estimate: WorkEstimate,
    /// Its facts.
    pub details: RequestDetails,
}
