//! The authorization webhook: SubjectAccessReviews, sent to a server that the operator names.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use quorate_access::authorization::{ReviewError, Reviewer};
use quorate_env::Network;

use crate::error::Error;
use crate::webhook::Webhook;

/// The reviewer that asks the server.
pub(super) struct ServerReviewer {
    webhook: Webhook,
}

impl ServerReviewer {
    /// Reads the file that says where to ask.
    pub(super) fn new(file: &Path, network: Arc<dyn Network>) -> Result<Self, Error> {
        Ok(Self { webhook: Webhook::new(file, network)? })
    }
}

#[async_trait]
impl Reviewer for ServerReviewer {
    async fn review(&self, review: Bytes) -> Result<Bytes, ReviewError> {
        let (status, body) = self.webhook.post(review).await.map_err(|error| match error {
            Error::Config(why) => ReviewError::Permanent(why),
            error @ (Error::Failed(_) | Error::Admin(_)) => {
                ReviewError::Transient(error.to_string())
            }
        })?;
        let said = format!("the server answers {status}");
        match status {
            status if status.is_success() => Ok(body),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Err(ReviewError::Transient(said))
            }
            status if status.is_server_error() => Err(ReviewError::Transient(said)),
            _ => Err(ReviewError::Permanent(said)),
        }
    }
}

impl fmt::Debug for ServerReviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerReviewer").finish_non_exhaustive()
    }
}
