//! The state machine: what the log amounts to, on disk and in memory.
//!
//! One fjall database holds objects, history and a little metadata; `quorate_store::State` decides every transaction and
//! `quorate_store::Serving` serves. The log is the durable truth: the database is written a little later, without a sync, and
//! catches up from the log after a crash. Not here: when to snapshot or purge (openraft's business), and how frames
//! travel (the network's).
//!
//! Reading order: `machine` (how openraft drives it), `group` (entries to one batch), `saver` (batches to disk), `keyspace` (what is on disk), `load` (a
//! start), `window` (what history is kept), `snapshot`.

mod change;
mod checksum;
mod database;
mod error;
mod group;
mod history;
mod keyspace;
mod load;
mod machine;
mod manifest;
mod note;
mod offline;
mod options;
mod progress;
mod record;
mod repair;
mod saver;
mod snapshot;
mod window;

pub use checksum::Checksum;
pub use error::OpenError;
pub use machine::{DiskUsage, SnapshotBuilder, StateMachine};
pub(crate) use offline::{Founding, Offline};
pub use options::{
    BLOCK_CACHE_BYTES, Identity, MEMTABLE_BYTES, Options, RECLAIM_BYTES, Saving, WARM_BYTES, WORKER_THREADS,
};
pub use progress::{Position, Progress};
pub use snapshot::{
    Frames, Incoming, MAX_FRAME_BYTES, Outgoing, Snapshot, SnapshotData, SnapshotError, SnapshotReceiver,
};
