//! Errors of opening the state machine, and the disk's failures as one line.
//!
//! Invariant: each message says which folder and what is wrong with it; none is retried here.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::cluster::ClusterId;

/// The failure of [`super::StateMachine::open`].
#[derive(Debug, Error)]
pub enum StateOpenError {
    /// The data is another cluster's.
    #[error("the state in {directory} belongs to cluster {found}, not to {expected}")]
    Cluster {
        /// The state's folder.
        directory: PathBuf,
        /// The cluster in it.
        found: ClusterId,
        /// Ours.
        expected: ClusterId,
    },
    /// The data was made with another naming profile.
    #[error("the state in {directory} was made with --naming {found}, not {expected}")]
    Naming {
        /// The state's folder.
        directory: PathBuf,
        /// The profile in it.
        found: String,
        /// Ours.
        expected: String,
    },
    /// The data has a format that this program does not know.
    #[error("the state in {directory} has format {found}; this program reads format {expected}")]
    Format {
        /// The state's folder.
        directory: PathBuf,
        /// The format in it.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Another process has it open.
    #[error("the state in {directory} is in use by another process")]
    Locked {
        /// The state's folder.
        directory: PathBuf,
    },
    /// Something in it contradicts the rest.
    #[error("the state in {directory} is corrupt: {what}")]
    Corrupt {
        /// The state's folder.
        directory: PathBuf,
        /// Which part, and how.
        what: String,
    },
    /// The disk failed or is full.
    #[error("the state in {directory} cannot be opened: {error}")]
    Io {
        /// The state's folder.
        directory: PathBuf,
        /// The system's words.
        error: io::Error,
    },
}

/// A failure of the disk while running. Fatal for the node: the state accepts nothing any more.
pub(super) fn storage(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("state machine: {error}"))
}

/// Damaged or contradictory data in `what`.
pub(super) fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("state machine: {what}"))
}
