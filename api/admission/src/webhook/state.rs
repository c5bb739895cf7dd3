//! The state of a webhook at one node: what its breaker says.

use super::WebhookType;
use super::index::StoredWebhook;

/// A webhook whose breaker is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookState {
    /// Whether it changes objects or decides about them.
    pub webhook_type: WebhookType,
    /// Its configuration.
    pub configuration: String,
    /// Its name.
    pub webhook: String,
    /// Failed calls in a row.
    pub failures: u32,
    /// How the last one has failed.
    pub last_failure: String,
}

impl WebhookState {
    /// `None` for a webhook that is called.
    pub(super) fn of(webhook: &StoredWebhook, webhook_type: WebhookType) -> Option<Self> {
        let (failures, last_failure) = webhook.breaker.opened_by()?;
        Some(Self {
            webhook_type,
            configuration: webhook.configuration.clone(),
            webhook: webhook.name.clone(),
            failures,
            last_failure,
        })
    }
}
