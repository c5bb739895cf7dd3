//! What becomes of requests that come to a queue set.

/// What becomes of a request that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow_control) enum Arrival {
    /// It executes; of a queue, where there are queues.
    Executing(Option<u32>),
    /// It waits until its value is dispatched.
    Waiting(Ticket),
    /// It was rejected.
    Rejected(RejectReason),
}

/// The place of a waiting request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow_control) struct Ticket {
    pub(in crate::flow_control) queue: u32,
    pub(super) id: u64,
    /// Requests in its queue, with it.
    pub(in crate::flow_control) queue_length: usize,
}

/// Why a request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RejectReason {
    /// Its queue is full.
    QueueFull,
    /// There is no seat, and the level has no queues.
    ConcurrencyLimit,
    /// It has waited for as long as it may.
    TimeOut,
    /// Its client has left, or its time was over.
    Cancelled,
}

impl RejectReason {
    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::ConcurrencyLimit => "concurrency-limit",
            Self::TimeOut => "time-out",
            Self::Cancelled => "cancelled",
        }
    }
}
