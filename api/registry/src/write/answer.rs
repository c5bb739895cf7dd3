//! Answers to writes: the outcome, the object, the warnings, and the time of each phase.
//!
//! Not here: the HTTP response.

use bytes::Bytes;
use quorate_store::Revision;

use super::phase::PhaseTimes;

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The object is new.
    Created,
    /// The object has changed.
    Updated,
    /// The object was as requested already; nothing was written.
    Unchanged,
    /// The object's deletion has begun; finalizers or a grace period still hold it.
    Terminating,
    /// The object is gone.
    Removed,
}

/// A write that was carried out (or, in a dry run, would have been).
#[derive(Debug, Clone)]
pub struct Answer {
    /// The outcome.
    pub outcome: Outcome,
    /// The object in its stored form: its new state, or its last one.
    pub value: Bytes,
    /// The revision of that state; zero for an object that a dry run did not create.
    pub revision: Revision,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// The time that each phase took, over all attempts.
    pub times: PhaseTimes,
}
