//! Errors of administrative requests.
//!
//! Invariant: as in the store, only [`AdminError::Unknown`] leaves it open whether something
//! changed.

use quorate_store::{Error, NotApplied};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tonic::{Code, Status};

/// The failure of an administrative request. Crosses the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum AdminError {
    /// The request breaks a rule; trying again does not help.
    #[error("{0}")]
    Refused(String),
    /// There is no leader, it cannot be reached, or it is busy with another change; try again.
    #[error("not possible now: {0}")]
    Unavailable(String),
    /// The request may or may not be carried out; look at the members before trying again.
    #[error("outcome unknown: {0}")]
    Unknown(String),
}

impl AdminError {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }

    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable(reason.into())
    }
}

impl From<Error> for AdminError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotApplied(reason) => reason.into(),
            Error::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

/// A call that failed in the network or was refused by the peer.
impl From<Status> for AdminError {
    fn from(status: Status) -> Self {
        let reason = status.message().to_owned();
        match status.code() {
            Code::Unauthenticated | Code::FailedPrecondition | Code::InvalidArgument => {
                Self::Refused(reason)
            }
            _ => Self::Unknown(reason),
        }
    }
}

impl From<NotApplied> for AdminError {
    fn from(reason: NotApplied) -> Self {
        Self::Unavailable(reason.to_string())
    }
}
