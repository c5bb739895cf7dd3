//! Errors of administrative requests.
//!
//! Invariants: as in the store, only [`AdminError::Unknown`] leaves it open whether something
//! changed. Variants are only ever added at the end, and what is newer than the caller's protocol goes
//! to it as [`AdminError::Refused`]. A caller that acts on a reason has a variant of it; texts are for
//! people.

use quorate_store::{Error, NodeId, NotApplied};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tonic::{Code, Status};

use crate::network::call_auth::is_gone;

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
    /// The only voter cannot be removed. Since the peer protocol 3.
    #[error("member {0} is the last voter")]
    LastVoter(NodeId),
    /// The asking node is a member no longer: it was removed, or its cluster was given up. No node
    /// answers with it; it is what a refused call means.
    #[error("{0}")]
    Gone(String),
}

impl AdminError {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }

    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable(reason.into())
    }

    /// As a caller of before the peer protocol 3 knows it.
    pub(crate) fn plain(self) -> Self {
        match self {
            Self::LastVoter(_) => Self::Refused(self.to_string()),
            known => known,
        }
    }

    /// What another node has refused this one, told to this one's own caller, who can ask elsewhere.
    pub(crate) fn of_forward(status: Status) -> Self {
        match status.into() {
            Self::Gone(reason) => Self::Unavailable(reason),
            error => error,
        }
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
            _ if is_gone(&status) => Self::Gone(reason),
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
