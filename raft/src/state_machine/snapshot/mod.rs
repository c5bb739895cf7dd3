//! Snapshots: how one member's whole state, history included, gets to another.
//!
//! The sender takes an [`Outgoing`] from openraft's `Snapshot` with [`SnapshotData::outgoing`] and
//! sends [`Outgoing::frames`] in order, over any transport that delivers messages of up to
//! [`MAX_FRAME_BYTES`]. The receiver starts an [`Incoming`] with [`SnapshotReceiver::begin`], gives
//! every frame to [`Incoming::push`], and after the last one calls [`Incoming::finish`], which
//! gives the `Snapshot` for `Raft::install_full_snapshot`. Dropping an [`Incoming`] or what it
//! made, at any point, leaves the old state serving and removes what was received.

mod data;
mod error;
mod format;
mod frame;
mod incoming;
mod objects;
mod outgoing;

pub use error::SnapshotError;
pub(crate) use format::{OLDEST_STREAM_VERSION, STREAM_VERSION};
pub use frame::MAX_FRAME_BYTES;
pub use incoming::{Incoming, SnapshotReceiver};
pub use outgoing::{Frames, Outgoing};

pub(super) use data::Contents;
pub use data::{Snapshot, SnapshotData};
pub(super) use objects::ObjectStreamReader;
