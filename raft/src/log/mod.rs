//! Raft's log on disk: segments that are made ahead and used again, one writer that puts everything
//! that waits into one write and one sync (group commit), the vote, and recovery.
//!
//! Declarations only. Start reading at `handle` (what callers do), then `writer` (how it becomes
//! durable), then `recovery`. The layout on disk, from the outside in: `segment_header`, `batch`,
//! `record`; beside the segments lie the `slots` files.

mod batch;
mod error;
mod handle;
mod hard_state;
mod index;
mod observer;
mod options;
mod queue;
mod read;
mod recent_entries;
mod record;
mod recovery;
mod scan;
mod segment;
mod segment_header;
mod segment_pool;
mod shared;
mod slots;
mod storage;
mod writer;

pub use error::LogOpenError;
pub use handle::Log;
pub use observer::LogObserver;
pub use options::{LogIdentity, LogOptions};
pub(crate) use segment_header::FORMAT;
