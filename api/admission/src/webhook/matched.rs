//! Which webhooks a write matches, and the reviews that they are asked with.
//!
//! Invariants: of two webhooks that match as the same resource the reviews are the same value; a
//! match condition is evaluated with what the webhook would see.

use std::sync::{Arc, OnceLock};

use quorate_meta::{Status, Value};
use quorate_policy::{ConditionsVerdict, FailurePolicy, Pending};
use quorate_registry::Attributes;
use quorate_registry::error::Error;
use tokio::time::Instant;

use super::WebhookPhase;
use super::index::StoredWebhook;
use super::metrics::{ConditionsOutcome, ConditionsResult, WebhookType};
use super::review::Reviews;
use crate::matching::match_resources::MatchedAs;
use crate::matching::questions::Questions;
use crate::matching::request;
use crate::matching::seen::Seen;
use crate::matching::subject::{Subject, name_of};
use crate::matching::versioned::Versioned;
use crate::snapshot_view::SnapshotView;

/// After so many rounds of questions to the authorizer a write is refused.
const ROUNDS_MAX: usize = 64;

/// A write as one resource.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) matched: MatchedAs,
    pub(super) objects: Versioned,
    request: Value,
    reviews: OnceLock<Reviews>,
}

impl Form {
    /// The reviews, made when one is first needed.
    pub(super) fn reviews(&self) -> &Reviews {
        self.reviews.get_or_init(|| Reviews::new(&self.request, &self.objects))
    }
}

/// The forms of a write that were needed until now.
#[derive(Debug, Default)]
pub(super) struct Forms(Vec<Arc<Form>>);

impl Forms {
    async fn get(
        &mut self,
        phase: &WebhookPhase<'_>,
        attributes: &Attributes<'_>,
        matched: MatchedAs,
    ) -> Result<Arc<Form>, Error> {
        if let Some(known) = self.0.iter().find(|form| is_same(&form.matched, &matched)) {
            return Ok(known.clone());
        }
        let objects = Versioned::of(attributes, &matched).await?;
        let request = phase.with_subject(attributes, |subject| {
            request::request(subject, matched.resource(attributes.target.resource))
        });
        let form = Arc::new(Form { matched, objects, request, reviews: OnceLock::new() });
        self.0.push(form.clone());
        Ok(form)
    }
}

fn is_same(left: &MatchedAs, right: &MatchedAs) -> bool {
    match (left, right) {
        (MatchedAs::Itself, MatchedAs::Itself) => true,
        (MatchedAs::Equivalent(left), MatchedAs::Equivalent(right)) => Arc::ptr_eq(left, right),
        _ => false,
    }
}

impl WebhookPhase<'_> {
    /// The form in which a webhook is asked about a write; `None` when it is not asked.
    ///
    /// # Errors
    /// The refusal of a write of which that cannot be said.
    pub(super) async fn matched(
        &self,
        (webhook_type, webhook): (WebhookType, &StoredWebhook),
        attributes: &Attributes<'_>,
        forms: &mut Forms,
    ) -> Result<Option<Arc<Form>>, Error> {
        let matched = self.with_subject(attributes, |subject| webhook.constraints.matched(subject));
        let matched = match matched {
            Ok(None) => return Ok(None),
            Ok(Some(matched)) => matched,
            Err(why) => return Err(Error::internal(why.0)),
        };
        let form = forms.get(self, attributes, matched).await?;
        if !webhook.has_conditions() {
            return Ok(Some(form));
        }
        let begin = Instant::now();
        let verdict = self.verdict(webhook, attributes, &form).await?;
        self.index.metrics.conditions_evaluated(&ConditionsResult {
            webhook: &webhook.name,
            webhook_type,
            operation: attributes.operation,
            outcome: match verdict {
                ConditionsVerdict::Hold => ConditionsOutcome::Hold,
                ConditionsVerdict::Fails(_) => ConditionsOutcome::Exclude,
                ConditionsVerdict::Error(_) => ConditionsOutcome::Fail,
            },
            took: begin.elapsed(),
        });
        match (verdict, webhook.failure_policy) {
            (ConditionsVerdict::Hold, _) => Ok(Some(form)),
            (ConditionsVerdict::Error(why), FailurePolicy::Fail) => {
                Err(forbidden(attributes, &why))
            }
            (ConditionsVerdict::Fails(_) | ConditionsVerdict::Error(_), _) => Ok(None),
        }
    }

    /// What the match conditions of a webhook say.
    async fn verdict(
        &self,
        webhook: &StoredWebhook,
        attributes: &Attributes<'_>,
        form: &Form,
    ) -> Result<ConditionsVerdict, Error> {
        let environments = &self.index.environments;
        let conditions = webhook.conditions(environments);
        let questions = Questions::new(attributes.author);
        let resource = form.matched.resource(attributes.target.resource);
        for _ in 0..ROUNDS_MAX {
            let verdict = self.with_subject(attributes, |subject| {
                let seen = Seen::with(subject, resource, &form.objects);
                let inputs = seen.inputs(subject, &Value::Null, questions.answers());
                conditions.evaluate(environments, &inputs)
            });
            match verdict {
                Ok(verdict) => return Ok(verdict),
                Err(Pending) => questions.answer().await,
            }
        }
        Err(Error::internal("match conditions ask the authorizer without an end"))
    }

    /// Looks at a write in the state at hand.
    fn with_subject<T>(
        &self,
        attributes: &Attributes<'_>,
        look: impl FnOnce(&Subject<'_>) -> T,
    ) -> T {
        let (catalogue, snapshot) = (self.catalogue.load(), self.store.snapshot());
        let view = SnapshotView::new(self.index.names, &catalogue, &snapshot);
        look(&Subject::new(attributes, &view))
    }
}

fn forbidden(attributes: &Attributes<'_>, why: &str) -> Error {
    let resource = attributes.target.resource.group_resource();
    Status::forbidden(&resource, name_of(attributes), why).into()
}
