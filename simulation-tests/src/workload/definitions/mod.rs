//! The workload of clients that define custom resources and use them at the same time, through
//! any node.
//!
//! Declarations only: `choice` is what an actor asks next, `body` what definitions and custom
//! objects are made of, `watcher` watches custom objects, and `janitor` ends a round: it looks at
//! what every node serves, and deletes all definitions.
//!
//! Not here: the connection of a client and what it remembers, which are those of `api`.

mod body;
mod choice;
mod janitor;
mod watcher;

pub(crate) use body::{COLUMN, MARK};
pub(crate) use choice::choose;
pub(crate) use janitor::clear_up;
pub(crate) use watcher::watch;

/// The versions that definitions may have. The first one is always served.
pub(crate) const VERSIONS: [&str; 2] = ["v1", "v2"];
