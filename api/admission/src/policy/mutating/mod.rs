//! Mutating admission policies (KEP-3962): which of them change an object, in which order, and why
//! a write is refused.
//!
//! Invariants: what a write matches is decided by the object as the step has got it; a policy sees
//! the object as the one before has left it, pruned and with its defaults; what changes it is the
//! state at hand, and a refusal is told only from a state that is known to be current.
//!
//! Not here: the expressions (`quorate-policy`), and which step comes before and after.

mod change;
mod refusal;

use std::sync::Arc;

use quorate_cel::library::authorizer::Answers;
use quorate_meta::Value;
use quorate_policy::mutation::{MutatingPolicy, Reinvocation};
use quorate_policy::{ConditionsVerdict, Inputs, Pending};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, CurrentCatalogue};
use quorate_store::Store;
use quorate_trace::start;
use tokio::time::Instant;

use super::index::{Policies, PolicyIndex};
use super::policy_set::{BoundPolicy, StoredBinding, StoredPolicy};
use super::{ROUNDS_MAX, is_exempt};
use crate::matching::match_resources::MatchedAs;
use crate::matching::questions::Questions;
use crate::matching::seen::Seen;
use crate::matching::subject::{Subject, name_of};
use crate::metrics::{PolicyAction, PolicyResult};
use crate::mutation::{Pass, StepPass};
use crate::snapshot_view::SnapshotView;
use change::{Changer, Unchanged};
use refusal::Refusal;

/// The mutating policies over one store.
pub(crate) struct Mutator<'m> {
    pub(crate) index: &'m PolicyIndex,
    pub(crate) catalogue: &'m CurrentCatalogue,
    pub(crate) store: &'m Arc<dyn Store>,
}

/// What the policies make of one object.
struct Mutated {
    object: Value,
    /// Those that were asked, in order.
    asked: Vec<Invocation>,
    refusal: Refusal,
}

/// One policy, asked with one binding and one parameter object.
struct Invocation {
    key: String,
    has_changed: bool,
    may_repeat: bool,
}

/// What policies would have made of one write.
pub(super) struct Rehearsed {
    pub(super) object: Value,
    /// The names of the policies that change it, in order.
    pub(super) by: Vec<String>,
    /// Why they would refuse it.
    pub(super) refusal: Option<String>,
}

/// Why the policies have not made anything of an object.
enum Interrupted {
    /// Answers of the authorizer are missing.
    Pending,
    /// The write fails, whatever the failure policy.
    Failed(Error),
}

impl Invocation {
    fn policy(&self) -> &str {
        self.key.split(' ').next().unwrap_or_default()
    }
}

impl From<Pending> for Interrupted {
    fn from(_: Pending) -> Self {
        Self::Pending
    }
}

impl Mutator<'_> {
    /// Changes the object of a write as the policies have it.
    ///
    /// # Errors
    /// The refusal: of a policy that cannot be evaluated.
    pub(crate) async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
        pass: &mut StepPass<'_>,
    ) -> Result<(), Error> {
        let resource = attributes.target.resource;
        if object.is_null() || is_exempt(self.index.names(), resource) {
            return Ok(());
        }
        let policies = self.index.current().await?;
        if !policies.mutating.may_match(&resource.plural) {
            return Ok(());
        }
        // In a box, so that a write without policies pays nothing for it.
        Box::pin(self.mutate_by(&policies, attributes, object, pass)).await
    }

    /// What policies would make of the object of a write that was made already.
    ///
    /// # Errors
    /// 500 for an object that cannot be converted, and for a policy without an end.
    pub(super) async fn rehearse(
        &self,
        policies: &Policies,
        attributes: &Attributes<'_>,
    ) -> Result<Rehearsed, Error> {
        let mut pass = Pass::default();
        let mut questions = Questions::new(None);
        let mutated = self.ask(policies, attributes, &pass.policies(), &mut questions).await?;
        let refusal = mutated.refusal.tell(attributes.target.resource, name_of(attributes));
        let mut by: Vec<_> = mutated.asked.iter().filter(|asked| asked.has_changed).collect();
        by.dedup_by(|one, other| one.policy() == other.policy());
        Ok(Rehearsed {
            by: by.into_iter().map(|asked| asked.policy().to_owned()).collect(),
            refusal: refusal.err().map(|error| error.into_status().message),
            object: mutated.object,
        })
    }

    async fn mutate_by(
        &self,
        policies: &Policies,
        attributes: &Attributes<'_>,
        object: &mut Value,
        pass: &mut StepPass<'_>,
    ) -> Result<(), Error> {
        let resource = attributes.target.resource;
        pass.begin(object);
        let mut questions = Questions::new(attributes.author);
        let attributes = Attributes { new: Some(object), ..*attributes };
        let mut mutated = self.ask(policies, &attributes, pass, &mut questions).await;
        if !mutated.as_ref().is_ok_and(|mutated| mutated.refusal.is_empty()) {
            // What refuses may have changed elsewhere.
            self.store.read_index().await?;
            let policies = self.index.current().await?;
            mutated = self.ask(&policies, &attributes, pass, &mut questions).await;
        }
        let mutated = mutated?;
        mutated.refusal.tell(resource, name_of(&attributes))?;
        mutated.record(pass);
        *object = mutated.object;
        pass.end(object);
        Ok(())
    }

    /// What the policies make of the object in the state at hand; questions to the authorizer are
    /// answered in rounds.
    async fn ask(
        &self,
        policies: &Policies,
        attributes: &Attributes<'_>,
        pass: &StepPass<'_>,
        questions: &mut Questions<'_>,
    ) -> Result<Mutated, Error> {
        let (catalogue, snapshot) = (self.catalogue.load(), self.store.snapshot());
        for _ in 0..ROUNDS_MAX {
            let found = {
                let view = SnapshotView::new(self.index.names(), &catalogue, &snapshot);
                let subject = Subject::new(attributes, &view);
                self.mutated(policies, &subject, pass, questions.answers())
            };
            match found {
                Ok(mutated) => return Ok(mutated),
                Err(Interrupted::Failed(error)) => return Err(error),
                Err(Interrupted::Pending) => questions.answer().await,
            }
        }
        Err(Error::internal("admission policies ask the authorizer without an end"))
    }

    /// Asks every policy that matches, each about what the one before has left.
    fn mutated(
        &self,
        policies: &Policies,
        subject: &Subject<'_>,
        pass: &StepPass<'_>,
        answers: &Arc<Answers>,
    ) -> Result<Mutated, Interrupted> {
        let object = subject.attributes.new.cloned().unwrap_or_default();
        let mut mutated = Mutated { object, asked: Vec::new(), refusal: Refusal::default() };
        let plural = &subject.attributes.target.resource.plural;
        // What is misconfigured comes before what cannot be evaluated.
        let mut matched = Vec::new();
        for bound in policies.mutating.of(plural, self.index.now()) {
            match bound.matched(subject) {
                Ok(found) => matched.extend(found.map(|found| (bound, found))),
                Err(why) => mutated.refusal.misconfigured(&bound.policy, None, &why),
            }
        }
        for (bound, found) in &matched {
            for (binding, params) in &found.bindings {
                if let Err(why) = params {
                    mutated.refusal.misconfigured(&bound.policy, Some(*binding), why);
                }
            }
        }
        for (bound, found) in &matched {
            let seen = Seen::of(subject, &found.matched_as);
            for (binding, params) in &found.bindings {
                for params in params.iter().flatten() {
                    let asked =
                        PolicyInputs { subject, bound, binding, params, seen: &seen, answers };
                    self.ask_one(&asked, &found.matched_as, pass, &mut mutated)?;
                }
            }
        }
        Ok(mutated)
    }

    fn ask_one(
        &self,
        asked: &PolicyInputs<'_>,
        matched_as: &MatchedAs,
        pass: &StepPass<'_>,
        mutated: &mut Mutated,
    ) -> Result<(), Interrupted> {
        let environments = &self.index.environments;
        let policy = &*asked.bound.policy;
        let compiled = policy.compiled(self.index);
        let begin = Instant::now();
        let changer = Changer { subject: asked.subject, matched_as, policy: &policy.name };
        let form = changer.matched_form(&mutated.object);
        match compiled.conditions(environments, &asked.inputs(&form))? {
            ConditionsVerdict::Hold => {}
            ConditionsVerdict::Fails(_) => return Ok(()),
            ConditionsVerdict::Error(text) => {
                mutated.refusal.failed(policy, asked.binding, &text);
                return Ok(());
            }
        }
        let key = asked.key();
        if !pass.asks(&key) {
            return Ok(());
        }
        let (mut has_changed, mut has_failed) = (false, false);
        let _span = start("admission_policy")
            .map(|span| span.with("quorate.admission.policy", &*policy.name));
        for place in 0..compiled.mutations() {
            let changed = {
                let form = changer.matched_form(&mutated.object);
                let change = compiled.change(place, environments, &asked.inputs(&form))?;
                change
                    .map_err(Unchanged::Text)
                    .and_then(|change| changer.changed(&mutated.object, &form, change))
            };
            match changed {
                Ok(Some(object)) => {
                    has_changed |= object != mutated.object;
                    mutated.object = object;
                }
                Ok(None) => {}
                Err(Unchanged::Text(text)) => {
                    has_failed = true;
                    mutated.refusal.failed(policy, asked.binding, &text);
                }
                Err(Unchanged::Failed(error)) => return Err(Interrupted::Failed(error)),
            }
        }
        self.index.metrics.policy_evaluated(&PolicyResult {
            policy: &policy.name,
            binding: &asked.binding.name,
            action: PolicyAction::Mutate,
            has_failed,
            took: begin.elapsed(),
        });
        let may_repeat = compiled.reinvocation() == Reinvocation::IfNeeded;
        mutated.asked.push(Invocation { key, has_changed, may_repeat });
        Ok(())
    }
}

impl Mutated {
    /// Takes note of what was asked. The policies that have changed the object are asked again too,
    /// as the release does it.
    fn record(&self, pass: &mut StepPass<'_>) {
        for invocation in &self.asked {
            if invocation.has_changed {
                pass.changed();
            }
            if invocation.may_repeat {
                pass.asked(invocation.key.clone());
            }
        }
        if self.asked.iter().any(|invocation| invocation.has_changed) {
            pass.changed();
        }
    }
}

/// A policy that is asked.
struct PolicyInputs<'a> {
    subject: &'a Subject<'a>,
    bound: &'a BoundPolicy<MutatingPolicy>,
    binding: &'a StoredBinding,
    params: &'a Value,
    seen: &'a Seen<'a>,
    answers: &'a Arc<Answers>,
}

impl PolicyInputs<'_> {
    /// The variables of its expressions, for an object in the form that is matched.
    fn inputs<'i>(&'i self, object: &'i Value) -> Inputs<'i> {
        Inputs { object, ..self.seen.inputs(self.subject, self.params, self.answers) }
    }

    /// What tells it from others; a space is in no name.
    fn key(&self) -> String {
        let text = |field| self.params.str_at(&["metadata", field]).unwrap_or_default();
        let (policy, binding) = (&self.bound.policy.name, &self.binding.name);
        format!("{policy} {binding} {} {}", text("namespace"), text("name"))
    }
}
