//! Delete: the object is removed at once when no finalizer or grace period holds it; otherwise its
//! deletion begins.
//!
//! Invariants: the propagation policy is stored as a finalizer. An object of a kind with grace periods
//! that goes at once is marked first, with a grace period of zero, and removed then: watchers see
//! both. One that was only marked is removed by the next deletion.
//!
//! Not here: the deletion of dependents, which is the garbage collector's.

use bytes::Bytes;
use quorate_meta::{Status, Value};
use quorate_store::{Condition, Entry, Operation, Revision, Txn};

use super::allocation::Changes;
use super::answer::{Answer, Outcome};
use super::phase::PhaseClock;
use super::pipeline::{Admitted, Attempt, Write};
use super::refusal::{not_found, quota_contended, stale};
use super::state::revision;
use super::{Writer, metadata};
use crate::error::Error;
use crate::options::{DeleteOptions, Preconditions, Target};
use crate::strategy::propagation;
use crate::{Step, WriteOrigin, stored_codec};

/// Attempts of a deletion without a revision, after each of which the object has changed.
const MAX_ATTEMPTS: usize = 32;

impl Writer {
    /// Deletes an object, or begins its deletion.
    ///
    /// # Errors
    /// 404 for an absent object, 409 when a precondition does not hold, 403 for an object that is
    /// never deleted, and any refusal of admission.
    pub async fn delete(
        &self,
        target: Target<'_>,
        options: &DeleteOptions,
    ) -> Result<Answer, Error> {
        if let Some(why) = target.resource.strategy.undeletable(self.names, target.name) {
            return Err(
                Status::forbidden(&target.resource.group_resource(), target.name, why).into()
            );
        }
        let key = target.key();
        let mut entry = self.store.snapshot().get(&key).cloned();
        let mut is_current = false;
        let mut clock = PhaseClock::start();
        let (mut terms_changed, mut marked) = (0, None);
        for _ in 0..MAX_ATTEMPTS {
            clock.skip();
            let attempt = match &entry {
                Some(entry) => self.remove(target, entry, options, &mut marked, &mut clock).await,
                None => Err(not_found(target)),
            };
            match attempt {
                Ok(Attempt::Done(answer))
                    if answer.outcome != Outcome::Unchanged && !options.dry_run =>
                {
                    return Ok(answer);
                }
                Ok(Attempt::Overtaken(current)) => (entry, is_current) = (current, true),
                Ok(Attempt::Terms) => {
                    terms_changed += 1;
                    self.back_off(terms_changed).await;
                    (entry, is_current) = (self.current().await?.get(&key).cloned(), true);
                }
                Err(error @ (Error::Store(_) | Error::History(_))) => return Err(error),
                Ok(Attempt::Done(answer)) if is_current => return Ok(answer),
                Err(error) if is_current => return Err(error),
                // The outcome may follow from an old state: compare the current one.
                told => {
                    let current = self.current().await?.get(&key).cloned();
                    if revision(current.as_ref()) == revision(entry.as_ref()) {
                        return told.map(|attempt| match attempt {
                            Attempt::Done(answer) => answer,
                            Attempt::Overtaken(_) | Attempt::Terms => unreachable!("handled above"),
                        });
                    }
                    (entry, is_current) = (current, true);
                }
            }
        }
        Err(if terms_changed > 0 { quota_contended(target) } else { stale(target) })
    }

    /// Runs the phases once: those of a deletion are mutate, admit, quota and commit. `marked_at`
    /// is where this deletion has marked the object.
    async fn remove(
        &self,
        target: Target<'_>,
        entry: &Entry,
        options: &DeleteOptions,
        marked_at: &mut Option<Revision>,
        clock: &mut PhaseClock,
    ) -> Result<Attempt, Error> {
        let strategy = &target.resource.strategy;
        let mut object = stored_codec::decode_converted(target.resource, entry).await?;
        metadata::of(&mut object).remove("resourceVersion");
        if *marked_at != Some(entry.modified) {
            check_preconditions(target, entry.modified, &object, &options.preconditions)?;
        }
        let finalizers: Vec<&str> = metadata::finalizers(&object).collect();
        let marked =
            propagation::finalizers(&finalizers, options.propagation, strategy.propagation());
        let held = marked.as_ref().map_or(!finalizers.is_empty(), |marked| !marked.is_empty());
        let (terminating, had) =
            (metadata::is_terminating(&object), metadata::grace_seconds(&object));
        let grace = grace_seconds(target, &object, options);
        let held = held || grace > 0 || strategy.is_held(&object);
        let decided = marked.is_none() && grace == had;
        if held && decided && terminating {
            return Ok(Attempt::Done(unchanged(entry, clock)));
        }
        let has_grace = strategy.grace_seconds(&object, options.grace_seconds).is_some();
        let marks = !held && has_grace && !options.dry_run && (!terminating || had != 0);
        let write = Write {
            basis: self.basis(),
            ..Write::delete(target, (&object, entry.modified), options)
        };
        let rules = write.rules();
        let mut terms = self.admit_deletion(&write, clock).await?;
        let warnings = std::mem::take(&mut terms.warnings);
        if let Some(marked) = marked {
            metadata::set_finalizers(&mut object, marked);
        }
        let key = target.key();
        let (outcome, value, operation, step) = if held || marks {
            self.mark(target, &mut object, grace);
            let value = stored_codec::encode_converted(target.resource, &object).await?;
            (
                Outcome::Terminating,
                value.clone(),
                Operation::Put { key: key.clone(), value },
                Step::Terminating,
            )
        } else {
            let value = self.last_form(target, entry, &mut object, options).await?;
            (Outcome::Removed, value, Operation::Delete { key: key.clone() }, Step::Removed)
        };
        let mut operations = vec![operation];
        operations.extend(strategy.companions(step, target.name));
        let freed = if step == Step::Removed { self.give_up(target, &object)? } else { Vec::new() };
        let allocation = Changes { conditions: Vec::new(), operations: freed };
        let conditions = vec![Condition::Modified { key, revision: entry.modified }];
        let txn = Txn { conditions, operations, ..Txn::default() };
        let admitted = Admitted { allocation, terms, rules };
        let committed = self.commit(txn, admitted, origin(options), options.dry_run, clock).await?;
        let done = |revision: Option<Revision>| {
            let (revision, times) = (revision.unwrap_or(entry.modified), clock.times());
            if marks {
                *marked_at = Some(revision);
                let created = entry.created;
                return Attempt::Overtaken(Some(Entry { value, created, modified: revision }));
            }
            Attempt::Done(Answer { outcome, value, revision, warnings, times })
        };
        self.attempt(target, committed, done).await
    }

    /// The form in which a removed object is answered: of a kind with grace periods as one whose
    /// deletion has begun, and ends at once.
    async fn last_form(
        &self,
        target: Target<'_>,
        entry: &Entry,
        object: &mut Value,
        options: &DeleteOptions,
    ) -> Result<Bytes, Error> {
        if target.resource.strategy.grace_seconds(object, options.grace_seconds).is_none() {
            return Ok(entry.value.clone());
        }
        self.mark(target, object, 0);
        stored_codec::encode_converted(target.resource, object).await
    }

    /// Begins the deletion of an object, or makes its grace period shorter.
    fn mark(&self, target: Target<'_>, object: &mut Value, grace_seconds: i64) {
        if metadata::is_terminating(object) {
            metadata::hurry(object, metadata::grace_seconds(object), grace_seconds);
        } else {
            self.begin_deletion(target, object, grace_seconds);
        }
    }

    fn begin_deletion(&self, target: Target<'_>, object: &mut Value, grace_seconds: i64) {
        let strategy = &target.resource.strategy;
        let metadata = metadata::of(object);
        metadata.insert("deletionTimestamp", metadata::after(self.now(), grace_seconds).seconds());
        if strategy.shows_grace_period() {
            metadata.insert("deletionGracePeriodSeconds", grace_seconds);
        }
        if strategy.counts_generations() {
            metadata::next_generation(object);
        }
        strategy.begin_deletion(object);
    }
}

/// What a deletion says of itself.
fn origin(options: &DeleteOptions) -> WriteOrigin<'static> {
    let DeleteOptions { propagation, grace_seconds, .. } = *options;
    WriteOrigin { verb: "delete", propagation, grace_seconds, ..WriteOrigin::default() }
}

/// The answer to a deletion that has begun already and goes on as it was.
fn unchanged(entry: &Entry, clock: &mut PhaseClock) -> Answer {
    Answer {
        outcome: Outcome::Unchanged,
        value: entry.value.clone(),
        revision: entry.modified,
        warnings: Vec::new(),
        times: clock.times(),
    }
}

/// The grace period in seconds: after the deletion has begun it can only become shorter.
fn grace_seconds(target: Target<'_>, object: &Value, options: &DeleteOptions) -> i64 {
    let (terminating, had) = (metadata::is_terminating(object), metadata::grace_seconds(object));
    match target.resource.strategy.grace_seconds(object, options.grace_seconds) {
        None => 0,
        Some(seconds) if !terminating => seconds,
        Some(seconds) if options.grace_seconds.is_some() => seconds.min(had),
        Some(_) => had,
    }
}

fn check_preconditions(
    target: Target<'_>,
    current: Revision,
    object: &Value,
    preconditions: &Preconditions,
) -> Result<(), Error> {
    let kind = target.resource.group_kind();
    if let Some(asked) = &preconditions.resource_version
        && asked.parse() != Ok(current.get())
    {
        return Err(
            Status::version_precondition_failed(&kind, target.name, asked, current.get()).into()
        );
    }
    let uid = metadata::text(object, "uid");
    match &preconditions.uid {
        Some(asked) if asked != uid => {
            Err(Status::uid_precondition_failed(&kind, target.name, asked, uid).into())
        }
        _ => Ok(()),
    }
}
