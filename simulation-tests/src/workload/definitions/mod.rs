//! The workload of clients that define custom resources and use them at the same time, through
//! any node.
//!
//! Declarations only: `watcher` watches custom objects.
//!
//! Not here: what an actor asks, and the connection of a client and what it remembers, which are those
//! of `api`.

mod watcher;

pub(crate) use crate::workload::api::definitions::{COLUMN, MARK, choose, clear_up};
pub(crate) use watcher::watch;

/// The versions that definitions may have. The first one is always served.
pub(crate) const VERSIONS: [&str; 2] = ["v1", "v2"];
