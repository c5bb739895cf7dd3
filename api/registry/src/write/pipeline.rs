//! The admission pipeline: the phases of [`super::PHASES`] between an object and its transaction,
//! for every operation, every part of an object, clients and controllers alike.
//!
//! [`Writer::shape`] runs the phases that change the object, [`Writer::judge`] the kind's rules,
//! [`Writer::admit`] the phases that decide about the valid object, [`Writer::commit`] the
//! transaction.
//!
//! Invariant: an object does not change between `validate` and `commit`, except that `allocate`
//! sets what it chooses.
//!
//! Not here: the loops that run a lost attempt again (`create`, `update`, `delete`).

use std::pin::pin;

use quorate_meta::Value;
use quorate_store::{Entry, Revision};

use super::allocation::Changes;
use super::answer::Answer;
use super::commit::Rules;
use super::phase::{Phase, PhaseClock};
use super::{DeleteOptions, Writer};
use crate::error::Error;
use crate::options::{GivenOptions, Owners, Target, WriteOptions};
use crate::{AdmissionOperation, Attributes, Notes, Part, Terms, WriteOrigin};

/// One write of one object, as the phases see it.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) operation: AdmissionOperation,
    pub(super) target: Target<'a>,
    pub(super) part: Part,
    /// The object before; `None` for a creation.
    pub(super) old: Option<&'a Value>,
    /// The revision of the object before.
    pub(super) revision: Option<Revision>,
    pub(super) options: WriteOptions<'a>,
    /// The fields that the request names; `None` when it is the whole object.
    pub(super) named: Option<&'a Value>,
    /// Whether the write changes managed fields.
    pub(super) owners: Owners,
    /// Whether the object replaces another one of its name as if that had been deleted: then the
    /// kind's rules on changes do not apply.
    pub(super) swaps: bool,
    /// The options of a deletion.
    pub(super) delete_options: Option<&'a DeleteOptions>,
    /// The revision of policies and webhooks before the first phase.
    pub(super) basis: Option<Revision>,
}

impl<'a> Write<'a> {
    /// The creation of an object.
    pub(super) fn create(target: Target<'a>, options: WriteOptions<'a>, owners: Owners) -> Self {
        Self {
            operation: AdmissionOperation::Create,
            target,
            part: Part::Main,
            old: None,
            revision: None,
            options,
            named: None,
            owners,
            swaps: false,
            delete_options: None,
            basis: None,
        }
    }

    /// The deletion of an object.
    pub(super) fn delete(
        target: Target<'a>,
        (object, revision): (&'a Value, Revision),
        options: &'a DeleteOptions,
    ) -> Self {
        let write =
            WriteOptions { dry_run: options.dry_run, manager: "", given: GivenOptions::NONE };
        Self {
            operation: AdmissionOperation::Delete,
            old: Some(object),
            revision: Some(revision),
            delete_options: Some(options),
            ..Self::create(target, write, Owners::Settled)
        }
    }

    /// What the write has to do with policies and webhooks. The status of one says nothing to others.
    pub(super) fn rules(&self) -> Rules {
        let strategy = &self.target.resource.strategy;
        let changes = self.part != Part::Status && strategy.is_admission_rule();
        Rules { basis: self.basis, changes }
    }

    /// What a creation or a change says of itself, where its request has not said more.
    pub(super) fn origin(&self) -> WriteOrigin<'a> {
        let is_new = self.operation == AdmissionOperation::Create;
        WriteOrigin {
            verb: if is_new { "create" } else { "update" },
            subresource: self.part.subresource(),
            manager: self.options.manager,
            ..WriteOrigin::default()
        }
    }

    /// The attributes of the write for admission.
    fn attributes<'s>(&'s self, writer: &'s Writer, new: Option<&'s Value>) -> Attributes<'s> {
        Attributes {
            operation: self.operation,
            target: self.target,
            subresource: self.part.subresource(),
            part: Some(self.part),
            body: None,
            old: self.old,
            new,
            dry_run: self.options.dry_run,
            revision: self.revision,
            given: self.options.given,
            delete_options: self.delete_options,
            user: writer.user(),
            author: writer.author.as_deref(),
        }
    }
}

/// The additions of a write to its transaction besides the object.
#[derive(Debug, Default)]
pub(super) struct Admitted {
    pub(super) allocation: Changes,
    pub(super) terms: Terms,
    pub(super) rules: Rules,
}

/// The outcome of one attempt of a write that may run again.
pub(super) enum Attempt {
    Done(Answer),
    /// The object has changed; this is its entry at a revision that is known to have been current.
    Overtaken(Option<Entry>),
    /// The terms of admission have changed.
    Terms,
}

impl Writer {
    /// Prepare, mutate, default: sets everything that the client does not decide.
    pub(super) async fn shape(
        &self,
        write: &Write<'_>,
        object: &mut Value,
        clock: &mut PhaseClock,
    ) -> Result<(), Error> {
        clock.measure(Phase::Prepare, || self.prepare(write, object, self.now()));
        self.reshape(write, object, clock).await
    }

    /// Mutate, default: of an object that was prepared.
    pub(super) async fn reshape(
        &self,
        write: &Write<'_>,
        object: &mut Value,
        clock: &mut PhaseClock,
    ) -> Result<(), Error> {
        let now = self.now();
        clock.run(Phase::Mutate, pin!(self.mutate(write, object))).await?;
        clock.measure(Phase::Default, || self.complete(write, object, now));
        Ok(())
    }

    /// Validate: the kind's rules, and the permissions that the write needs; the answer are warnings.
    pub(super) async fn judge(
        &self,
        write: &Write<'_>,
        object: &Value,
        clock: &mut PhaseClock,
    ) -> Result<Vec<String>, Error> {
        clock.run(Phase::Validate, pin!(self.validate(write, object))).await
    }

    /// Allocate, admit, quota: the allocations of a valid object, and the terms of its admission.
    pub(super) async fn admit(
        &self,
        write: &Write<'_>,
        object: &mut Value,
        clock: &mut PhaseClock,
    ) -> Result<Admitted, Error> {
        let allocation = clock
            .run(Phase::Allocate, pin!(self.allocate(write.target, write.part, write.old, object)))
            .await?;
        let terms = self.terms(write, Some(object), clock).await?;
        Ok(Admitted { allocation, terms, rules: write.rules() })
    }

    /// Mutate and admit for the deletion of an object.
    pub(super) async fn admit_deletion(
        &self,
        write: &Write<'_>,
        clock: &mut PhaseClock,
    ) -> Result<Terms, Error> {
        clock.run(Phase::Mutate, pin!(self.mutate(write, &mut Value::Null))).await?;
        self.terms(write, None, clock).await
    }

    /// Admit and quota.
    pub(super) async fn terms(
        &self,
        write: &Write<'_>,
        new: Option<&Value>,
        clock: &mut PhaseClock,
    ) -> Result<Terms, Error> {
        let Some(admission) = &self.admission else {
            return Ok(Terms::default());
        };
        let attributes = write.attributes(self, new);
        let terms = clock.run(Phase::Admit, pin!(admission.validate(&attributes))).await;
        let terms = terms.inspect_err(|_| self.note_warnings(write, new))?;
        if !admission.is_counted(&attributes) {
            return Ok(terms);
        }
        Ok(terms.and(clock.run(Phase::Quota, pin!(admission.charge(&attributes))).await?))
    }

    /// Tells what the kind warns of in a write that is refused; one that is made has it in its
    /// answer.
    fn note_warnings(&self, write: &Write<'_>, new: Option<&Value>) {
        if let (Some(author), Some(new), Part::Main | Part::Scale) = (&self.author, new, write.part)
        {
            let strategy = &write.target.resource.strategy;
            let warnings = strategy.warnings(self.names, write.old, new);
            author.note(Notes { warnings, ..Notes::default() });
        }
    }

    async fn mutate(&self, write: &Write<'_>, object: &mut Value) -> Result<(), Error> {
        match &self.admission {
            Some(admission) => admission.mutate(&write.attributes(self, None), object).await,
            None => Ok(()),
        }
    }
}
