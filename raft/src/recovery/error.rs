//! Errors of a recovery; one line each.

use std::io;
use std::path::PathBuf;

use crate::cluster::ClusterId;
use crate::{log, state_machine};

/// The failure of a recovery. Whatever it was, trying again is safe.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The marker is not one.
    #[error("the marker of a recovery in {} is damaged", path.display())]
    Marker {
        /// The file.
        path: PathBuf,
    },
    /// A recovery of another member has begun in this folder.
    #[error("a recovery of node {node} from cluster {old} has begun in {}, and this is not its folder", directory.display())]
    Foreign {
        /// The folder.
        directory: PathBuf,
        /// The member that was being recovered.
        node: u64,
        /// The cluster that it was of.
        old: ClusterId,
    },
    /// The member has never been in a cluster.
    #[error("the node in {} has never had a leader: there is nothing to recover", directory.display())]
    Empty {
        /// Its folder.
        directory: PathBuf,
    },
    /// Entries between the state and the log are missing.
    #[error("the log in {} begins with entry {first}, and the state ends with entry {applied}", directory.display())]
    Gap {
        /// The member's folder.
        directory: PathBuf,
        /// The first entry in the log.
        first: u64,
        /// The last entry in the state.
        applied: u64,
    },
    /// The log cannot be opened.
    #[error(transparent)]
    Log(#[from] log::LogOpenError),
    /// The state cannot be opened.
    #[error(transparent)]
    State(#[from] state_machine::StateOpenError),
}
