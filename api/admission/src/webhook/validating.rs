//! Validating webhooks: asked side by side about the object that is written.
//!
//! Invariants: every webhook that matches is asked, also beside one that refuses; the first refusal
//! in their order is told.

use futures::future::join_all;
use quorate_policy::FailurePolicy;
use quorate_registry::Attributes;
use quorate_registry::error::Error;

use super::call::{Called, Failed, call};
use super::index::{StoredWebhook, Webhooks};
use super::matched::Forms;
use super::metrics::WebhookType;
use super::notes::CallNotes;
use super::{WebhookPhase, refusal};

impl WebhookPhase<'_> {
    /// Asks the validating webhooks that match a write.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Error> {
        match self.in_force(attributes).await? {
            // In a box, so that a write without webhooks pays nothing for it.
            Some(webhooks) if webhooks.validating.may_match(&attributes.target.resource.plural) => {
                Box::pin(self.validate_by_all(&webhooks, attributes)).await
            }
            _ => Ok(()),
        }
    }

    async fn validate_by_all(
        &self,
        webhooks: &Webhooks,
        attributes: &Attributes<'_>,
    ) -> Result<(), Error> {
        let plural = &attributes.target.resource.plural;
        let (mut forms, mut matched) = (Forms::default(), Vec::new());
        for (_, webhook) in webhooks.validating.of(plural, self.index.now()) {
            let asked = (WebhookType::Validating, &*webhook);
            match self.matched(asked, attributes, &mut forms).await {
                Ok(Some(form)) => matched.push((webhook, form)),
                Ok(None) => {}
                Err(refused) if self.is_in_force(&webhook, WebhookType::Validating).await? => {
                    return Err(refused);
                }
                Err(_) => {}
            }
        }
        let calls = matched.iter().map(|(webhook, form)| {
            call(self.index, WebhookType::Validating, webhook, form.reviews(), attributes)
        });
        let called = join_all(calls).await;
        let mut notes = CallNotes::new(self.index.names);
        let mut refused = Ok(());
        for (index, ((webhook, _), called)) in matched.iter().zip(called).enumerate() {
            let decided = self.decide(webhook, index, called, &mut notes);
            if refused.is_ok()
                && let Err(refusal) = decided
                && self.is_in_force(webhook, WebhookType::Validating).await?
            {
                refused = Err(refusal);
            }
        }
        notes.tell(attributes.author);
        refused
    }

    fn decide(
        &self,
        webhook: &StoredWebhook,
        index: usize,
        called: Called,
        notes: &mut CallNotes,
    ) -> Result<(), Error> {
        notes.took(webhook, called.took);
        match called.result {
            Ok(mut verdict) => {
                notes.said(webhook, &mut verdict);
                if verdict.allowed {
                    return Ok(());
                }
                Err(refusal::denied(&webhook.name, verdict.status.as_ref()).into())
            }
            Err(Failed::Refused(refused)) => Err(refused),
            Err(Failed::Call { why, .. }) => match webhook.failure_policy {
                FailurePolicy::Fail => Err(refusal::call_failed(&webhook.name, &why)),
                FailurePolicy::Ignore => {
                    notes.validation_failed_open(webhook, index);
                    Ok(())
                }
            },
        }
    }
}
