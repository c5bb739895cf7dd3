//! Conversion of custom objects between versions by the webhook of their definition.
//!
//! Invariants: an object that has the wanted version already is not sent. What comes back has the
//! wanted version, the kind and the identity of what was sent; of its metadata only labels and
//! annotations are taken. A review has at most `MAX_OBJECTS` objects and, unless one alone is
//! larger, `MAX_BYTES` of them; its answer has at most `MAX_ANSWER` bytes and comes within `TIMEOUT`.
//!
//! Not here: when objects are converted, and pruning and defaults around it.

mod batch;
mod check;
mod converter;
mod in_flight;
mod metrics;
mod remote;
mod review;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use quorate_env::Entropy;
use quorate_meta::Names;
use quorate_webhook::Clients;

pub use converter::{ConversionError, ConversionFailure, Converter};
pub use metrics::{ConversionMetrics, ConversionResult, UncountedConversions};
pub use remote::{VersionForm, WebhookVersion};
pub use sender::{ReviewSender, WebhookSender};

use super::definition::WebhookConversion;

/// What conversion webhooks are reached with.
#[derive(Debug, Clone)]
pub struct Webhooks {
    /// The clients.
    pub clients: Arc<Clients>,
    /// Randomness, for the uids of reviews.
    pub entropy: Arc<dyn Entropy>,
    /// What is told of every conversion.
    pub metrics: Arc<dyn ConversionMetrics>,
}

impl Webhooks {
    /// The converter of the definition of this name.
    #[must_use]
    pub fn converter(
        &self,
        names: &'static Names,
        definition: &str,
        webhook: &WebhookConversion,
    ) -> Converter {
        let sender = WebhookSender::new(self.clients.clone(), &webhook.client_config);
        let sender: Arc<dyn ReviewSender> = Arc::new(sender);
        Converter::new(names, self.entropy.clone(), &webhook.review_versions, sender)
            .counted(definition, self.metrics.clone())
    }
}
