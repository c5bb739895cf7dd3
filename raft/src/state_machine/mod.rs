//! The state machine: what the log amounts to, on disk and in memory.
//!
//! `quorate_store::State` decides every transaction and `quorate_store::Serving` serves, both from
//! memory. On disk are a journal of all changes, which is the history, and now and then a
//! checkpoint of all objects; a start reads the newest checkpoint and the journal after it. The log
//! is the durable truth: the journal is written a little later, without a sync, and catches up from
//! the log after a crash. Not here: when to snapshot or purge (openraft's business), and how frames
//! travel (the network's).
//!
//! Reading order: `machine` (how openraft drives it), `group` (entries to one frame), `saver`
//! (frames to disk), `folder` (what is on disk), `journal`, `frame` and `checkpoint`, `load` (a
//! start), `retention` (what history is kept), `snapshot`.

mod change;
mod checkpoint;
mod checkpoint_runner;
mod checksum;
mod error;
mod failure;
mod folder;
mod frame;
mod frame_contents;
mod group;
mod history;
mod journal;
mod load;
mod machine;
mod offline;
mod options;
mod owner_file;
mod progress;
mod record;
mod replay;
mod retention;
mod saver;
mod snapshot;

pub use checksum::Checksum;
pub use error::StateOpenError;
pub(crate) use folder::{FORMAT_VERSION, OLDEST_FORMAT, stored_format};
pub use machine::{DiskUsage, SnapshotBuilder, StateMachine};
pub(crate) use offline::{FoundedState, NewCluster, Offline};
pub use options::{
    CHECKPOINT_BYTES, SEGMENT_BYTES, Saving, StateIdentity, StateMachineOptions, WARM_BYTES,
};
pub use progress::{Position, Progress};
pub use snapshot::{
    Frames, Incoming, MAX_FRAME_BYTES, Outgoing, Snapshot, SnapshotData, SnapshotError,
    SnapshotReceiver,
};
pub(crate) use snapshot::{OLDEST_STREAM_VERSION, STREAM_VERSION};
