//! The way of a review to the webhook and back.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use quorate_meta::Value;
use quorate_webhook::{Answer, Call, CallError, ClientConfig, Clients};

/// How long a webhook may take for one review.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// The same, as the webhook is told.
const TIMEOUT_QUERY: &str = "timeout=30s";
/// Bytes of an answer, at most: 16 MiB, as many as are parsed. The objects that a review asks for
/// may become several times as large.
pub(super) const MAX_ANSWER: usize = quorate_wire::json::MAX_BYTES;

/// Sends reviews.
#[async_trait]
pub trait ReviewSender: Debug + Send + Sync + 'static {
    /// Sends a review in JSON and gives the body of the answer.
    ///
    /// # Errors
    /// Why there is no answer that is a success.
    async fn send(&self, review: Bytes) -> Result<Bytes, String>;
}

/// Sends them to the webhook that a definition names.
#[derive(Debug)]
pub struct WebhookSender {
    clients: Arc<Clients>,
    config: Result<ClientConfig, CallError>,
}

impl WebhookSender {
    /// A sender to what a `clientConfig` names.
    #[must_use]
    pub fn new(clients: Arc<Clients>, config: &Value) -> Self {
        Self { clients, config: ClientConfig::read(config) }
    }

    async fn answer(&self, body: Bytes) -> Result<Answer, CallError> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        let call =
            Call { body, query: Some(TIMEOUT_QUERY), timeout: TIMEOUT, max_answer: MAX_ANSWER };
        self.clients.client(config)?.post(call).await
    }
}

#[async_trait]
impl ReviewSender for WebhookSender {
    async fn send(&self, review: Bytes) -> Result<Bytes, String> {
        let answer = self.answer(review).await.map_err(|error| error.to_string())?;
        answer.success().cloned().map_err(|error| error.to_string())
    }
}
