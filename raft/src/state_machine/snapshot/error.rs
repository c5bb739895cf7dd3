//! Errors of receiving a snapshot.
//!
//! Invariant: after any of these the state that was serving before is still serving, untouched.

use std::io;

use quorate_store::Revision;
use thiserror::Error;

use crate::cluster::ClusterId;

/// The failure of receiving a snapshot. The transfer is over; another one may be begun.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// A frame did not arrive as it was sent.
    #[error("snapshot frame {frame} is damaged: {what}")]
    Damaged {
        /// Its number in the stream, from 0.
        frame: u32,
        /// In which way.
        what: &'static str,
    },
    /// A frame was lost, repeated or overtaken by another.
    #[error("snapshot frame {expected} was expected, {found} came")]
    OutOfOrder {
        /// The number that was due.
        expected: u32,
        /// The number that came.
        found: u32,
    },
    /// The stream ended before its trailer.
    #[error("the snapshot ends early, after frame {frames}")]
    Truncated {
        /// Frames received.
        frames: u32,
    },
    /// The sender speaks another version of the stream.
    #[error("the snapshot has version {found}; this program reads version {expected}")]
    Version {
        /// The sender's.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// The sender belongs to another cluster.
    #[error("the snapshot is of cluster {found}, not of {expected}")]
    Cluster {
        /// The sender's.
        found: ClusterId,
        /// Ours.
        expected: ClusterId,
    },
    /// The sender uses another naming profile.
    #[error("the snapshot was made with --naming {found}, not {expected}")]
    Naming {
        /// The sender's.
        found: String,
        /// Ours.
        expected: String,
    },
    /// The parts do not add up to what the header and trailer say.
    #[error("the snapshot at revision {revision} is inconsistent: {what}")]
    Inconsistent {
        /// The revision that the header names.
        revision: Revision,
        /// What does not fit.
        what: String,
    },
    /// An earlier frame was refused already.
    #[error("the snapshot was refused before")]
    Refused,
    /// Our disk failed or is full. Fatal for the node: the state takes nothing any more.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<SnapshotError> for io::Error {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Io(error) => error,
            other => Self::new(io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}
