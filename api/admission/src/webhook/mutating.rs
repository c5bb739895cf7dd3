//! Mutating webhooks: asked one after the other, each with the object as the one before has left it.
//!
//! Invariants: the first refusal ends the sequence; a patch is applied whole or not at all; a patch
//! that does not apply refuses the write whatever the failure policy is.

use std::sync::Arc;

use quorate_meta::{Value, quoted};
use quorate_policy::FailurePolicy;
use quorate_registry::Attributes;
use quorate_registry::error::Error;

use super::call::{Called, Failed, call, log_failure};
use super::index::{StoredWebhook, Webhooks};
use super::matched::{Form, Forms};
use super::metrics::WebhookType;
use super::notes::CallNotes;
use super::{WebhookPhase, refusal, response};
use crate::matching::versioned::Versioned;
use crate::mutation::StepPass;

/// The round, and the place of the webhook among all.
type Position = (usize, usize);

impl WebhookPhase<'_> {
    /// Asks the mutating webhooks that match a write, and changes the object as they say.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
        pass: StepPass<'_>,
    ) -> Result<(), Error> {
        match self.in_force(attributes).await? {
            // In a box, so that a write without webhooks pays nothing for it.
            Some(webhooks) if webhooks.mutating.may_match(&attributes.target.resource.plural) => {
                Box::pin(self.ask_all(&webhooks, attributes, object, pass)).await
            }
            _ => Ok(()),
        }
    }

    async fn ask_all(
        &self,
        webhooks: &Webhooks,
        attributes: &Attributes<'_>,
        object: &mut Value,
        mut pass: StepPass<'_>,
    ) -> Result<(), Error> {
        let plural = &attributes.target.resource.plural;
        let mut notes = CallNotes::new(self.index.names);
        pass.begin(object);
        let mut asked = Ok(());
        let mut forms = Forms::default();
        for (place, webhook) in webhooks.mutating.of(plural, self.index.now()) {
            let position = (pass.round(), place);
            if !pass.asks(&webhook.key()) {
                continue;
            }
            asked = match self
                .ask_mutating(&webhook, attributes, object, &mut forms, position, &mut notes)
                .await
            {
                Ok(None) => continue,
                Ok(Some(changed)) => {
                    if changed {
                        forms = Forms::default();
                        pass.changed();
                    }
                    if webhook.is_reinvoked {
                        pass.asked(webhook.key());
                    }
                    continue;
                }
                Err(refused) => match self.is_in_force(&webhook, WebhookType::Mutating).await {
                    Ok(true) => Err(refused),
                    Ok(false) => continue,
                    Err(error) => Err(error),
                },
            };
            break;
        }
        pass.end(object);
        notes.tell(attributes.author);
        asked
    }

    /// Whether a webhook that matches has changed the object; `None` for one that does not match.
    async fn ask_mutating(
        &self,
        webhook: &Arc<StoredWebhook>,
        attributes: &Attributes<'_>,
        object: &mut Value,
        forms: &mut Forms,
        position: Position,
        notes: &mut CallNotes,
    ) -> Result<Option<bool>, Error> {
        let attributes =
            &Attributes { new: Some(&*object).filter(|object| !object.is_null()), ..*attributes };
        let Some(form) = self.matched((WebhookType::Mutating, webhook), attributes, forms).await?
        else {
            return Ok(None);
        };
        let called =
            call(self.index, WebhookType::Mutating, webhook, form.reviews(), attributes).await;
        let changed = self.follow(webhook, attributes, &form, called, position, notes).await;
        notes.mutated(webhook, position, matches!(changed, Ok(Some(_))));
        let changed = changed?;
        let has_changed = changed.is_some();
        if let Some(changed) = changed {
            *object = changed;
        }
        Ok(Some(has_changed))
    }

    /// The object after the answer of a webhook; `None` when it stays as it is.
    async fn follow(
        &self,
        webhook: &StoredWebhook,
        attributes: &Attributes<'_>,
        form: &Form,
        called: Called,
        position: Position,
        notes: &mut CallNotes,
    ) -> Result<Option<Value>, Error> {
        notes.took(webhook, called.took);
        let mut verdict = match called.result {
            Ok(verdict) => verdict,
            Err(Failed::Refused(refused)) => return Err(refused),
            Err(Failed::Call { why, .. }) => {
                return self.mutation_failed(webhook, &why, position, notes).map(|()| None);
            }
        };
        notes.said(webhook, &mut verdict);
        if !verdict.allowed {
            return Err(refusal::denied(&webhook.name, verdict.status.as_ref()).into());
        }
        let Some(text) = verdict.patch else {
            return Ok(None);
        };
        let patch = match response::patch(&text) {
            Ok(None) => return Ok(None),
            Ok(Some(patch)) => patch,
            Err(why) => {
                log_failure(webhook, "the patch cannot be read");
                let why = format!("received undecodable patch in webhook response: {why}");
                return self.mutation_failed(webhook, &why, position, notes).map(|()| None);
            }
        };
        if form.objects.new.is_null() {
            return Err(refusal::nothing_to_patch(&webhook.name));
        }
        let mut patched = form.objects.new.clone();
        patch.apply(&mut patched).map_err(|rejected| Error::internal(patch.explain(rejected)))?;
        if let Ok((document, _)) = quorate_wire::json::parse(&text) {
            notes.patched(webhook, position, document);
        }
        self.changed(webhook, attributes, form, patched).await
    }

    /// What is written when the object becomes what a webhook has made of it; `None` when that is
    /// the same.
    async fn changed(
        &self,
        webhook: &StoredWebhook,
        attributes: &Attributes<'_>,
        form: &Form,
        patched: Value,
    ) -> Result<Option<Value>, Error> {
        if patched == form.objects.new {
            return Ok(None);
        }
        let by = format!("admission webhook {}", quoted(&webhook.name));
        for field in ["apiVersion", "kind"] {
            if patched.get(field) != form.objects.new.get(field) {
                return Err(Error::internal(format!("{by} has changed the {field} of the object")));
            }
        }
        let before = attributes.new.unwrap_or(&Value::Null);
        let mut object = Versioned::written(attributes, &form.matched, patched).await?;
        attributes.settle(self.index.names, &by, before, &mut object)?;
        Ok(Some(object).filter(|object| object != before))
    }

    /// Lets a write through after a failed call, or refuses it, as the failure policy says.
    fn mutation_failed(
        &self,
        webhook: &StoredWebhook,
        why: &str,
        position: Position,
        notes: &mut CallNotes,
    ) -> Result<(), Error> {
        match webhook.failure_policy {
            FailurePolicy::Fail => Err(refusal::call_failed(&webhook.name, why)),
            FailurePolicy::Ignore => {
                notes.mutation_failed_open(webhook, position);
                Ok(())
            }
        }
    }
}
