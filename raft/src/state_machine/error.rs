//! Why the state machine could not be opened, and how the database's failures become one line.
//!
//! Invariant: each message says which folder and what is wrong with it; none is retried here.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::ClusterId;

/// The failure of [`super::StateMachine::open`].
#[derive(Debug, Error)]
pub enum OpenError {
    /// The data is another cluster's.
    #[error("the state in {directory} belongs to cluster {found}, not to {expected}")]
    Cluster {
        /// The database's folder.
        directory: PathBuf,
        /// The cluster in it.
        found: ClusterId,
        /// Ours.
        expected: ClusterId,
    },
    /// The data was made with another naming profile.
    #[error("the state in {directory} was made with --naming {found}, not {expected}")]
    Naming {
        /// The database's folder.
        directory: PathBuf,
        /// The profile in it.
        found: String,
        /// Ours.
        expected: String,
    },
    /// The data has a format that this program does not know.
    #[error("the state in {directory} has format {found}; this program reads format {expected}")]
    Format {
        /// The database's folder.
        directory: PathBuf,
        /// The format in it.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Another process has it open.
    #[error("the state in {directory} is in use by another process")]
    Locked {
        /// The database's folder.
        directory: PathBuf,
    },
    /// Something in it contradicts the rest.
    #[error("the state in {directory} is corrupt: {what}")]
    Corrupt {
        /// The database's folder.
        directory: PathBuf,
        /// Which part, and how.
        what: String,
    },
    /// The disk failed or is full.
    #[error("the state in {directory} cannot be opened: {error}")]
    Io {
        /// The database's folder.
        directory: PathBuf,
        /// The system's words.
        error: io::Error,
    },
}

impl OpenError {
    /// A database failure while opening, as the case that it is.
    pub(super) fn from_database(directory: PathBuf, error: fjall::Error) -> Self {
        match error {
            fjall::Error::Locked => Self::Locked { directory },
            fjall::Error::Io(error) => Self::Io { directory, error },
            other => Self::Corrupt { directory, what: other.to_string() },
        }
    }
}

/// A database failure while running. Fatal for the node: the database accepts no further writes after one.
pub(super) fn storage(error: fjall::Error) -> io::Error {
    match error {
        fjall::Error::Io(error) => io::Error::new(error.kind(), format!("state machine: {error}")),
        fjall::Error::Poisoned => {
            io::Error::other("state machine: an earlier write in the background failed; the disk may be full")
        }
        other => io::Error::other(format!("state machine: {other}")),
    }
}

/// Damaged or contradictory data in `what`.
pub(super) fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("state machine: {what}"))
}
