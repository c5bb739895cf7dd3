//! The error of the API server, and the one place where it becomes a Status.
//!
//! Invariant: an error of the store that may have applied the write never becomes a response that
//! invites a blind retry: an unknown outcome is a 504; a refused one is a 503, 429 or 507.

use quorate_meta::{GroupResource, Reason, Status};
use quorate_store::{HistoryError, NotApplied};
use thiserror::Error;

use crate::freshness::Freshness;

/// Seconds in `Retry-After` when the cluster cannot answer at present.
const RETRY_AFTER_SECONDS: u32 = 1;

/// The reason why a request fails.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// A Status, which is the response.
    #[error("{0}")]
    Status(Box<Status>),
    /// A Status of a failed read, and how fresh the state was that it read.
    #[error("{0}")]
    Read(Box<Status>, Freshness),
    /// The store could not carry out a transaction or a linearizable read.
    #[error(transparent)]
    Store(#[from] quorate_store::Error),
    /// The store could not read at a revision.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

impl From<Box<Status>> for Error {
    fn from(status: Box<Status>) -> Self {
        Self::Status(status)
    }
}

impl Error {
    /// 404 for a path that is not served.
    #[must_use]
    pub fn no_such_path() -> Self {
        Status::path_not_found().into()
    }

    /// 400 with a message.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Status::bad_request(message).into()
    }

    /// 500: a defect of this server, described by its symptom.
    pub fn internal(why: impl Into<String>) -> Self {
        Status::internal(why).into()
    }

    /// 403 for an action on a resource.
    #[must_use]
    pub fn forbidden(group: &str, resource: &str, name: &str, sentence: &str) -> Self {
        Status::forbidden(&GroupResource::new(group, resource), name, sentence).into()
    }

    /// The reason of its Status; `None` for one of the store.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Status(status) | Self::Read(status, _) => Some(&status.reason),
            Self::Store(_) | Self::History(_) => None,
        }
    }

    /// How fresh the state was in which a read failed.
    #[must_use]
    pub fn freshness(&self) -> Option<Freshness> {
        match self {
            Self::Read(_, freshness) => Some(*freshness),
            _ => None,
        }
    }

    /// The Status of the response.
    #[must_use]
    pub fn into_status(self) -> Status {
        match self {
            Self::Status(status) | Self::Read(status, _) => *status,
            Self::Store(quorate_store::Error::NotApplied(reason)) => not_applied(&reason),
            Self::Store(quorate_store::Error::Unknown(why)) => Status::timeout(
                &format!("request did not complete within the time allowed: {why}"),
                0,
            ),
            Self::History(HistoryError::Compacted { .. }) => Status::list_expired(),
            Self::History(HistoryError::Future { at, applied }) => {
                Status::too_large_resource_version(at.get(), applied.get())
            }
            Self::History(HistoryError::Unreadable) => {
                Status::internal("the kept history cannot be read")
            }
        }
    }
}

fn not_applied(reason: &NotApplied) -> Status {
    match reason {
        NotApplied::NoLeader | NotApplied::Unavailable(_) => Status::service_unavailable(format!(
            "the cluster cannot serve the request now: {reason}"
        ))
        .with_retry_after(RETRY_AFTER_SECONDS),
        NotApplied::Overloaded => {
            Status::too_many_requests(reason.to_string(), RETRY_AFTER_SECONDS)
        }
        NotApplied::OutOfSpace { .. } => {
            Status::storage_full(format!("database space exceeded: {reason}"))
        }
        NotApplied::TooLarge { .. } => Status::request_entity_too_large(&reason.to_string()),
        NotApplied::Invalid(_) => Status::internal(reason.to_string()),
    }
}
