//! The serving form: the newest state, recent changes, and the way to older ones, from which a node
//! serves reads and watches.
//!
//! [`Serving`] is shared by the memory store and the replica. There is one publisher (the task that
//! applies) and any number of readers, and neither waits for the other: the publisher replaces an
//! immutable view by one pointer swap, readers load it.
//!
//! Order of a publication: the view (with the new changes in its ring), then the topics that they
//! touch, then the announced revision, then the wake-ups. Every argument about gaps and repeats in
//! `watch` and `hub` rests on this order.
//!
//! Not here: durability and retention ([`History`]), and deciding transactions ([`crate::State`]).

mod history;
mod hub;
mod narrowing;
mod past_snapshots;
mod ring;
mod source;
mod topic;
mod topics;
mod view;
mod waiters;
mod watch;

pub use history::History;
pub use narrowing::{Narrowing, Term, TermSource};
pub use view::{DEFAULT_RING_BYTES, Serving, ServingOptions};
pub use watch::{Watch, WatchBatch};
