//! Forwarding: followers and learners send transactions and read-index requests to the leader over
//! one stream.
//!
//! Invariants: everything that waits is bounded ([`session::MAX_WAITING_REQUESTS`] on the follower,
//! [`serve::MAX_RUNNING_REQUESTS`] per stream on the leader); a request that may have reached the
//! leader when its stream broke is *unknown*, one that has surely not is *not applied*. Retrying is
//! the caller's business.

pub(crate) mod message;
pub(crate) mod patience;
pub(crate) mod serve;
pub(crate) mod session;

mod forwarder;

pub(crate) use forwarder::Forwarder;
