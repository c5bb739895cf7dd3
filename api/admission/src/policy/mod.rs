//! Admission policies: which of them a write is asked about, and what becomes of what they find.
//!
//! The way of a write: the `index` has the policies that may match, as a `policy_set` of each kind;
//! `params` finds the parameters of each binding; the policy's expressions are evaluated. Of a
//! validating policy `findings` makes the refusal, the warnings and the audit annotations; a
//! `mutating` one changes the object.
//!
//! Invariants: policies are never asked about policies and their bindings, nor about
//! reviews of access, so that a policy can always be mended; a refusal is told only from a state
//! that is known to be current; a cluster without policies pays a comparison of two numbers for a
//! write.
//!
//! Not here: what matches and what expressions see of a write (`matching`), and the expressions
//! (`quorate-policy`).

mod findings;
mod index;
mod mutating;
mod param_access;
mod params;
mod policy_set;
pub mod rehearsal;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use quorate_cel::library::authorizer::Answers;
use quorate_meta::Names;
use quorate_policy::{Pending, Policy};
use quorate_registry::error::Error;
use quorate_registry::{AdmissionWait, Attributes, Author, CurrentCatalogue, Notes, Resource};
use quorate_store::Store;
use quorate_trace::start;
use tokio::time::Instant;

use crate::matching::match_resources::MatchedAs;
use crate::matching::questions::Questions;
use crate::matching::seen::Seen;
use crate::matching::subject::Subject;
use crate::metrics::{PolicyAction, PolicyResult};
use crate::snapshot_view::SnapshotView;
use findings::{Refused, Report};
use index::Policies;
pub use index::PolicyIndex;
pub(crate) use mutating::Mutator;
use policy_set::{Actions, BoundPolicy, StoredBinding, StoredPolicy};

/// Resources, by neutral group and plural name, that no policy is asked about.
const EXEMPT: [(&str, &str); 10] = [
    ("admissionregistration", "validatingadmissionpolicies"),
    ("admissionregistration", "validatingadmissionpolicybindings"),
    ("admissionregistration", "mutatingadmissionpolicies"),
    ("admissionregistration", "mutatingadmissionpolicybindings"),
    ("authentication", "selfsubjectreviews"),
    ("authentication", "tokenreviews"),
    ("authorization", "localsubjectaccessreviews"),
    ("authorization", "selfsubjectaccessreviews"),
    ("authorization", "selfsubjectrulesreviews"),
    ("authorization", "subjectaccessreviews"),
];

/// A policy that takes as long is noted.
const LONG: Duration = Duration::from_millis(1);
/// After so many rounds of questions to the authorizer a write is refused: each round answers every
/// question that the one before has met.
const ROUNDS_MAX: usize = 64;

/// The policies over one store.
pub(crate) struct Judge<'j> {
    pub(crate) index: &'j PolicyIndex,
    pub(crate) catalogue: &'j CurrentCatalogue,
    pub(crate) store: &'j Arc<dyn Store>,
}

impl Judge<'_> {
    /// Admits or refuses a write.
    ///
    /// # Errors
    /// The refusal of the first policy that denies it.
    pub(crate) async fn judge(&self, attributes: &Attributes<'_>) -> Result<(), Error> {
        let resource = attributes.target.resource;
        if is_exempt(self.index.names(), resource) {
            return match attributes.author {
                Some(author) => self.check_params(attributes, author).await,
                None => Ok(()),
            };
        }
        let policies = self.index.current().await?;
        if !policies.validating.may_match(&resource.plural) {
            return Ok(());
        }
        // In a box, so that a write without policies pays nothing for it.
        Box::pin(self.judge_by(&policies, attributes)).await
    }

    async fn judge_by(
        &self,
        policies: &Policies,
        attributes: &Attributes<'_>,
    ) -> Result<(), Error> {
        let mut questions = Questions::new(attributes.author);
        let mut report = self.report(policies, attributes, &mut questions).await?;
        if report.is_refused() {
            // What refuses may have changed elsewhere.
            self.store.read_index().await?;
            let policies = self.index.current().await?;
            report = self.report(&policies, attributes, &mut questions).await?;
        }
        let names = self.index.names();
        if let Some(author) = attributes.author {
            let annotations = report.annotations(names).into_iter().collect();
            let warnings = std::mem::take(&mut report.warnings);
            let waits = std::mem::take(&mut report.waits);
            let notes = Notes { warnings, annotations, waits, ..Notes::default() };
            if notes != Notes::default() {
                author.note(notes);
            }
        }
        report.refusal(&Refused::of(attributes))
    }

    /// Asks whether the author of a policy or binding may read its parameters.
    async fn check_params(
        &self,
        attributes: &Attributes<'_>,
        author: &dyn Author,
    ) -> Result<(), Error> {
        let (catalogue, snapshot) = (self.catalogue.load(), self.store.snapshot());
        param_access::check(attributes, author, &catalogue, &snapshot).await
    }

    /// What the policies find in the state at hand; questions to the authorizer are answered in
    /// rounds.
    async fn report(
        &self,
        policies: &Policies,
        attributes: &Attributes<'_>,
        questions: &mut Questions<'_>,
    ) -> Result<Report, Error> {
        let (catalogue, snapshot) = (self.catalogue.load(), self.store.snapshot());
        for _ in 0..ROUNDS_MAX {
            let found = {
                let view = SnapshotView::new(self.index.names(), &catalogue, &snapshot);
                let subject = Subject::new(attributes, &view);
                self.ask(policies, &subject, questions.answers())
            };
            match found {
                Ok(report) => return Ok(report),
                Err(Pending) => questions.answer().await,
            }
        }
        Err(Error::internal("admission policies ask the authorizer without an end"))
    }

    /// Asks every policy that matches.
    fn ask(
        &self,
        policies: &Policies,
        subject: &Subject<'_>,
        answers: &Arc<Answers>,
    ) -> Result<Report, Pending> {
        let (mut report, mut pending) = (Report::default(), false);
        let written = OnceCell::new();
        let plural = &subject.attributes.target.resource.plural;
        for bound in policies.validating.of(plural, self.index.now()) {
            let (shared, began) = (SharedSubject { subject, written: &written }, Instant::now());
            let _span = start("admission_policy")
                .map(|span| span.with("quorate.admission.policy", &*bound.policy.name));
            pending |= self.ask_one(bound, shared, answers, &mut report).is_err();
            let (name, took) = (&bound.policy.name, began.elapsed());
            if took >= LONG {
                report.waits.push(AdmissionWait { part: "policy", name: name.clone(), took });
            }
        }
        if pending { Err(Pending) } else { Ok(report) }
    }

    fn ask_one(
        &self,
        bound: &BoundPolicy<Policy>,
        shared: SharedSubject<'_, '_>,
        answers: &Arc<Answers>,
        report: &mut Report,
    ) -> Result<(), Pending> {
        let (policy, subject) = (&*bound.policy, shared.subject);
        let matched = match bound.matched(subject) {
            Ok(None) => return Ok(()),
            Ok(Some(matched)) => matched,
            Err(why) => {
                report.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let converted;
        let seen = match &matched.matched_as {
            MatchedAs::Itself => {
                shared.written.get_or_init(|| Seen::of(subject, &matched.matched_as))
            }
            MatchedAs::Equivalent(_) => {
                converted = Seen::of(subject, &matched.matched_as);
                &converted
            }
        };
        let environments = &self.index.environments;
        let mut pending = Ok(());
        for (binding, params) in &matched.bindings {
            let params = match params {
                Ok(params) => params,
                Err(why) => {
                    report.misconfigured(policy, Some(*binding), why);
                    continue;
                }
            };
            for params in params {
                let inputs = seen.inputs(subject, params, answers);
                let compiled = policy.compiled(self.index);
                let begin = Instant::now();
                match compiled.evaluate(environments, &inputs) {
                    Ok(findings) => {
                        self.count(policy, binding, !findings.denials.is_empty(), begin.elapsed());
                        report.add(policy, binding, findings);
                    }
                    Err(missing) => pending = Err(missing),
                }
            }
        }
        pending
    }

    /// Counts an evaluation, once for each thing that follows from it.
    fn count(
        &self,
        policy: &StoredPolicy<Policy>,
        binding: &StoredBinding,
        is_denied: bool,
        took: Duration,
    ) {
        let Actions { deny, warn, audit } = binding.actions;
        let actions = [
            (PolicyAction::Allow, !is_denied),
            (PolicyAction::Deny, is_denied && deny),
            (PolicyAction::Audit, is_denied && audit),
            (PolicyAction::Warn, is_denied && warn),
        ];
        for (action, _) in actions.into_iter().filter(|(_, follows)| *follows) {
            self.index.metrics.policy_evaluated(&PolicyResult {
                policy: &policy.name,
                binding: &binding.name,
                action,
                has_failed: false,
                took,
            });
        }
    }
}

/// Whether no policy is asked about a resource.
fn is_exempt(names: &Names, resource: &Resource) -> bool {
    EXEMPT.iter().any(|(group, plural)| {
        *plural == resource.plural && *group == names.neutral(&resource.group)
    })
}

/// A write, and what its policies share of it.
#[derive(Clone, Copy)]
struct SharedSubject<'p, 's> {
    subject: &'p Subject<'s>,
    /// What the expressions see of all that match the resource itself.
    written: &'p OnceCell<Seen<'s>>,
}
