//! Create: one transaction on the condition that the name is free and the namespace takes objects.
//!
//! Invariant: a generated name that is taken is replaced by another one, a name that the client
//! chose is not.

use quorate_meta::{Status, Value, name};
use quorate_store::{Condition, Operation, Revision, Txn};

use super::answer::{Answer, Outcome};
use super::commit::Lost;
use super::phase::PhaseClock;
use super::pipeline::{Admitted, Write};
use super::refusal::{quota_contended, stale};
use super::{Writer, metadata, owners};
use crate::error::Error;
use crate::options::{Owners, Target, WriteOptions};
use crate::{Step, stored_codec};

/// Attempts of a creation: each with another name, if it is generated, or under terms that have
/// changed.
const MAX_ATTEMPTS: usize = 32;
/// Generated names that are tried.
const MAX_NAMES: usize = 8;

/// The reason why a transaction that creates did not commit.
enum Refused {
    /// The namespace takes no objects, or the resource does not.
    Closed(Revision),
    Exists,
    /// Another object has taken an allocation.
    Allocation,
    /// The terms of admission have changed.
    Terms,
    /// The policies and webhooks have changed.
    Rules,
}

/// What an attempt does before it judges the object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shaping {
    /// Prepares, mutates and defaults it.
    Whole,
    /// Asks mutating admission again about what it has become.
    Mutation,
    /// Takes it as it is.
    Done,
}

impl Writer {
    /// Creates an object. `target.name` is ignored: the name is the object's own, or made from its
    /// `generateName`.
    ///
    /// # Errors
    /// 409 when the name is taken, 404 or 403 when the namespace takes no objects, 422 for an
    /// invalid object, 429 when its terms of admission have changed at each attempt.
    pub async fn create(
        &self,
        target: Target<'_>,
        object: Value,
        options: WriteOptions<'_>,
    ) -> Result<Answer, Error> {
        self.create_owned(target, object, options, Owners::Change).await
    }

    /// Creates an object whose field owners may be settled already.
    pub(super) async fn create_owned(
        &self,
        target: Target<'_>,
        mut object: Value,
        options: WriteOptions<'_>,
        owners: Owners,
    ) -> Result<Answer, Error> {
        let resource = target.resource;
        if !matches!(metadata::text(&object, "resourceVersion"), "" | "0") {
            return Err(Status::revision_on_create().into());
        }
        let mut clock = PhaseClock::start();
        let repeated = owners::dedup(&mut object);
        self.begin(target, &mut object);
        let namespace = target.namespace.filter(|_| resource.namespaced);
        let prefix = Some(metadata::text(&object, "generateName").to_owned())
            .filter(|prefix| !prefix.is_empty() && metadata::text(&object, "name").is_empty());
        // Fields that follow from the name must follow from the name that is tried last.
        let unnamed = prefix.as_ref().map(|_| object.clone());
        let (mut names_taken, mut terms_changed) = (0, 0);
        let mut shaping = Shaping::Whole;
        for attempt in 0..MAX_ATTEMPTS {
            if let (Some(prefix), Some(unnamed)) = (&prefix, &unnamed) {
                if attempt > 0 {
                    object.clone_from(unnamed);
                }
                metadata::of(&mut object).insert("name", self.generate(prefix));
                resource.strategy.default(self.names, &mut object);
            }
            let name = metadata::text(&object, "name").to_owned();
            let target = Target { resource, namespace, name: &name };
            let write = Write { basis: self.basis(), ..Write::create(target, options, owners) };
            let refused =
                match self.attempt_creation(&write, shaping, &mut object, &mut clock).await? {
                    Ok(answer) => {
                        let warnings = repeated.into_iter().chain(answer.warnings).collect();
                        return Ok(Answer { warnings, ..answer });
                    }
                    Err(refused) => refused,
                };
            shaping = match refused {
                _ if prefix.is_some() => Shaping::Whole,
                Refused::Rules => Shaping::Mutation,
                _ => Shaping::Done,
            };
            match refused {
                // The state that the allocations were chosen from has changed.
                Refused::Allocation => drop(self.current().await?),
                Refused::Terms | Refused::Rules => {
                    terms_changed += 1;
                    self.back_off(terms_changed).await;
                    drop(self.current().await?);
                }
                Refused::Exists if prefix.is_some() => {
                    names_taken += 1;
                    if names_taken == MAX_NAMES {
                        return Err(Status::generated_name_exists(
                            &resource.group_resource(),
                            &name,
                        )
                        .into());
                    }
                }
                Refused::Exists => {
                    return Err(self.exists(target)?);
                }
                Refused::Closed(at) => self.look_at_markers(target, at).await?,
            }
            clock.skip();
        }
        let target = Target { resource, namespace, name: metadata::text(&object, "name") };
        Err(if terms_changed > 0 { quota_contended(target) } else { stale(target) })
    }

    /// Runs the phases once.
    async fn attempt_creation(
        &self,
        write: &Write<'_>,
        shaping: Shaping,
        object: &mut Value,
        clock: &mut PhaseClock,
    ) -> Result<Result<Answer, Refused>, Error> {
        let strategy = &write.target.resource.strategy;
        let refusal = 'phases: {
            let shaped = match shaping {
                Shaping::Whole => self.shape(write, object, clock).await,
                Shaping::Mutation => self.reshape(write, object, clock).await,
                Shaping::Done => Ok(()),
            };
            if let Err(refusal) = shaped {
                break 'phases refusal;
            }
            let judged = match self.judge(write, object, clock).await {
                Ok(warnings) => warnings,
                Err(refusal) => break 'phases refusal,
            };
            // An allocation may be taken at the commit: then it is chosen anew from the object as
            // it was before.
            let mut chosen = strategy.allocator().map(|_| object.clone());
            let object = chosen.as_mut().unwrap_or(object);
            let mut admitted = match self.admit(write, object, clock).await {
                Ok(admitted) => admitted,
                Err(refusal) => break 'phases refusal,
            };
            let mut warnings = std::mem::take(&mut admitted.terms.warnings);
            let value = stored_codec::encode_converted(write.target.resource, object).await?;
            let operation = Operation::Put { key: write.target.key(), value: value.clone() };
            let proposed = self.propose_creation(write, operation, admitted, clock).await?;
            return Ok(proposed.map(|revision| {
                warnings.extend(judged);
                warnings.extend(strategy.warnings(self.names, None, object));
                Answer {
                    outcome: Outcome::Created,
                    value,
                    revision,
                    warnings,
                    times: clock.times(),
                }
            }));
        };
        Err(self.refuse_creation(write.target, refusal).await?)
    }

    fn generate(&self, prefix: &str) -> String {
        let mut entropy = [0; 8];
        self.env.entropy.fill(&mut entropy);
        name::generate(prefix, entropy)
    }

    /// The refusal of a creation; that of the resource and the namespace takes precedence, if those
    /// take no objects.
    async fn refuse_creation(&self, target: Target<'_>, refusal: Error) -> Result<Error, Error> {
        if self.marker_refusal(&self.store.snapshot(), target).is_none() {
            return Ok(refusal);
        }
        Ok(self.marker_refusal(&self.current().await?, target).unwrap_or(refusal))
    }

    /// 409 for a name that is in use. Of an object that is being deleted it says so.
    fn exists(&self, target: Target<'_>) -> Result<Error, Error> {
        let mut status = Status::already_exists(&target.resource.group_resource(), target.name);
        if let Some(entry) = self.store.snapshot().get(&target.key())
            && stored_codec::header(target.resource, &entry.value)?.deletion_timestamp().is_some()
        {
            status.message = format!("object is being deleted: {}", status.message);
        }
        Ok(status.into())
    }

    /// Refuses a creation in a namespace, or of a resource, that takes no objects at this revision,
    /// unless one of the same name has been created since.
    async fn look_at_markers(&self, target: Target<'_>, at: Revision) -> Result<(), Error> {
        let snapshot = self.state_at_least(at).await;
        match self.marker_refusal(&snapshot, target) {
            Some(refusal) => Err(refusal),
            None if snapshot.revision() < at => Err(stale(target)),
            None => Ok(()),
        }
    }

    async fn propose_creation(
        &self,
        write: &Write<'_>,
        operation: Operation,
        admitted: Admitted,
        clock: &mut PhaseClock,
    ) -> Result<Result<Revision, Refused>, Error> {
        let target = write.target;
        let key = operation.key().clone();
        let mut conditions = match self.marker_conditions(target).await? {
            Ok(conditions) => conditions,
            Err(closed) => return Ok(Err(Refused::Closed(closed))),
        };
        let free = conditions.len();
        conditions.push(Condition::Modified { key: key.clone(), revision: Revision::ZERO });
        let mut operations = vec![operation];
        operations.extend(target.resource.strategy.companions(Step::Created, target.name));
        let txn = Txn { conditions, operations, ..Txn::default() };
        match self.commit(txn, admitted, write.origin(), write.options.dry_run, clock).await? {
            Ok(Some(revision)) => Ok(Ok(revision)),
            Ok(None) => {
                let snapshot = self.current().await?;
                if self.marker_refusal(&snapshot, target).is_some() {
                    return Ok(Err(Refused::Closed(snapshot.revision())));
                }
                Ok(if snapshot.get(&key).is_some() {
                    Err(Refused::Exists)
                } else {
                    Ok(Revision::ZERO)
                })
            }
            Err(Lost::Own { condition, .. }) if condition == free => Ok(Err(Refused::Exists)),
            Err(Lost::Own { revision, .. }) => Ok(Err(Refused::Closed(revision))),
            Err(Lost::Allocation) => Ok(Err(Refused::Allocation)),
            Err(Lost::Terms) => Ok(Err(Refused::Terms)),
            Err(Lost::Rules) => Ok(Err(Refused::Rules)),
        }
    }
}
