//! The error of a command: one line for the user and an exit code.
//!
//! Invariant: the text of an error is one line that names what to change; only errors in an expression have further lines, which
//! point at the place. It never holds a secret.

use std::fmt::Display;

use quorate_raft::AdminError;
use quorate_webhook::CallError;
use thiserror::Error;

/// The failure of a command.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// What the user asked for cannot be: an option, a file or an address is wrong. Exit code 2.
    #[error("{0}")]
    Config(String),
    /// It should have worked. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// A member refuses, or cannot do it now. Exit code 1.
    #[error("{0}")]
    Admin(AdminError),
}

impl Error {
    /// A configuration error.
    pub(crate) fn config(message: impl Display) -> Self {
        Self::Config(message.to_string())
    }

    /// Any other failure.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => 2,
            Self::Failed(_) | Self::Admin(_) => 1,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        if error.is_permanent() { Self::config(error) } else { Self::failed(error) }
    }
}

/// Names the file in an I/O error.
pub(crate) fn at(path: &std::path::Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| Error::failed(format_args!("{}: {error}", path.display()))
}
