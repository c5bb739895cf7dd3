//! The queue of the log's writer.
//!
//! Its order is the order of the log. Records count against a budget of bytes that is given back
//! when they are durable; the senders of all other jobs wait for them, so they cannot pile up.

use std::io;

use openraft::storage::IOFlushed;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::types::{TypeConfig, Vote};

/// Answers whether a job became durable.
pub(super) type DurableReply = oneshot::Sender<io::Result<()>>;

/// One request to the writer.
pub(super) enum Job {
    /// Make records durable.
    Records(Records),
    /// Make a vote durable.
    Vote(Vote, DurableReply),
    /// Stop when everything before this is durable.
    Close(DurableReply),
}

/// Records in their order, unsealed.
pub(super) struct Records {
    pub(super) bytes: Vec<u8>,
    pub(super) done: Completion,
    /// The share of the queue's budget that these records hold.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// How the sender of records learns that they are durable.
pub(super) enum Completion {
    /// By openraft's callback, for entries.
    Flushed(IOFlushed<TypeConfig>),
    /// By an answer to the waiting caller.
    Reply(DurableReply),
    /// Not at all.
    Ignored,
}

impl Completion {
    pub(super) fn complete(self, result: io::Result<()>) {
        match self {
            Self::Flushed(callback) => callback.io_completed(result),
            Self::Reply(reply) => drop(reply.send(result)),
            Self::Ignored => {}
        }
    }
}
