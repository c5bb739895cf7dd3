//! Update, patch and apply: each makes a change from the newest state at hand.
//!
//! Invariant: the change commits on the condition that the state is still the newest; otherwise the
//! store returns the newest one, and the change is made again from that.

use futures::future::BoxFuture;
use quorate_meta::{Cause, Reason, Status, Value};
use quorate_schema::managed::{same_but_for_owners, same_owners};
use quorate_store::{Condition, Entry, Operation, Revision, Txn};

use super::allocation::Changes;
use super::answer::{Answer, Outcome};
use super::commit::Lost;
use super::phase::PhaseClock;
use super::pipeline::{Admitted, Attempt, Write};
use super::refusal::{not_found, quota_contended, stale};
use super::state::revision;
use super::{Writer, metadata, owners};
use crate::error::Error;
use crate::options::{Owners, Target, UpdateOptions};
use crate::{AdmissionOperation, Part, Step, stored_codec};

/// Attempts of a change, after each of which the object or its terms have changed; then it is
/// refused with a 409, or a 429.
const MAX_ATTEMPTS: usize = 32;

/// The authorization to create an absent object.
pub type Permit<'a> = &'a (dyn Fn() -> BoxFuture<'a, Result<(), Error>> + Sync);

/// Other keys in the transaction of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// What must hold of them.
    pub conditions: Vec<Condition>,
    /// How they change.
    pub operations: Vec<Operation>,
}

/// How an object is changed.
#[derive(Clone, Copy)]
struct Plan<'a> {
    options: UpdateOptions<'a>,
    /// Whether the write changes managed fields.
    owners: Owners,
    /// Checked when an absent object is to be created.
    creation: Option<Permit<'a>>,
    /// Other keys in the transaction.
    beside: Option<&'a Beside>,
}

/// The state that a change is made from.
struct Known {
    entry: Option<Entry>,
    /// Whether it was the newest state at some moment since the request arrived.
    current: bool,
}

impl Writer {
    /// Changes an existing object. `change` gets the object as clients see it (`None` when there is
    /// none) and returns the new one; it is called again when the object has changed meanwhile.
    ///
    /// # Errors
    /// 404 for an absent object, 409 when the revision that the change is bound to is not the
    /// current one or the object has changed at each of 32 attempts, 429 when its terms of
    /// admission have changed meanwhile, 422 for an invalid result, and any refusal of `change`.
    pub async fn update<F>(
        &self,
        target: Target<'_>,
        options: UpdateOptions<'_>,
        change: F,
    ) -> Result<Answer, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let plan = Plan { options, owners: Owners::Change, creation: None, beside: None };
        self.change(target, plan, change).await
    }

    /// Changes an existing object as [`Writer::update`] does, and other keys in the same
    /// transaction, even where the object itself stays as it is. When the conditions of the other
    /// keys do not hold, `change` is called again with the object as it was: it must refuse then.
    ///
    /// # Errors
    /// Those of an update.
    pub async fn update_beside<F>(
        &self,
        target: Target<'_>,
        options: UpdateOptions<'_>,
        beside: &Beside,
        change: F,
    ) -> Result<Answer, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let plan = Plan { options, owners: Owners::Change, creation: None, beside: Some(beside) };
        self.change(target, plan, change).await
    }

    /// Replaces an object: as [`Writer::update`], and an absent object of a kind that updates
    /// create is created if `permit` allows it.
    ///
    /// # Errors
    /// Those of an update and of a create, and any refusal of `permit`.
    pub async fn put<'a, F>(
        &self,
        target: Target<'_>,
        options: UpdateOptions<'a>,
        permit: Permit<'a>,
        change: F,
    ) -> Result<Answer, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let creation = Some(permit).filter(|_| target.resource.strategy.create_on_update());
        let plan = Plan { options, owners: Owners::Change, creation, beside: None };
        self.change(target, plan, change).await
    }

    /// Applies to an object (server-side apply): as [`Writer::update`], but the managed fields that
    /// `change` returns are kept, and an absent object is created if `permit` allows it.
    ///
    /// # Errors
    /// Those of an update and of a create, and any refusal of `permit`.
    pub async fn apply<'a, F>(
        &self,
        target: Target<'_>,
        options: UpdateOptions<'a>,
        permit: Permit<'a>,
        change: F,
    ) -> Result<Answer, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let (owners, creation) = (Owners::Settled, Some(permit));
        self.change(target, Plan { options, owners, creation, beside: None }, change).await
    }

    async fn change<F>(
        &self,
        target: Target<'_>,
        plan: Plan<'_>,
        mut change: F,
    ) -> Result<Answer, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let options = plan.options;
        let key = target.key();
        let mut known = if options.write.dry_run {
            Known { entry: self.current().await?.get(&key).cloned(), current: true }
        } else {
            Known { entry: self.store.snapshot().get(&key).cloned(), current: false }
        };
        let mut clock = PhaseClock::start();
        let mut terms_changed = 0;
        for _ in 0..MAX_ATTEMPTS {
            clock.skip();
            let attempt = match &known.entry {
                Some(entry) => self.replace(target, entry, plan, &mut change, &mut clock).await,
                None => self.create_by_change(target, plan, &mut change).await,
            };
            match attempt {
                Ok(Attempt::Done(answer))
                    if known.current || answer.outcome != Outcome::Unchanged =>
                {
                    return Ok(answer);
                }
                Ok(Attempt::Overtaken(entry)) => known = Known { entry, current: true },
                Ok(Attempt::Terms) => {
                    terms_changed += 1;
                    self.back_off(terms_changed).await;
                    known =
                        Known { entry: self.current().await?.get(&key).cloned(), current: true };
                }
                Err(error @ (Error::Store(_) | Error::History(_))) => return Err(error),
                Err(error) if known.current => return Err(error),
                // A refusal, or an unchanged object, may follow from an old state: compare the
                // current one.
                told => {
                    let entry = self.current().await?.get(&key).cloned();
                    if revision(entry.as_ref()) == revision(known.entry.as_ref()) {
                        return told.map(|attempt| match attempt {
                            Attempt::Done(answer) => answer,
                            Attempt::Overtaken(_) | Attempt::Terms => unreachable!("handled above"),
                        });
                    }
                    known = Known { entry, current: true };
                }
            }
        }
        Err(if terms_changed > 0 { quota_contended(target) } else { stale(target) })
    }

    async fn create_by_change<F>(
        &self,
        target: Target<'_>,
        plan: Plan<'_>,
        change: &mut F,
    ) -> Result<Attempt, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let options = plan.options;
        let Some(permit) = plan.creation.filter(|_| options.part == Part::Main) else {
            return Err(not_found(target));
        };
        if options.if_match.is_some() {
            return Err(stale(target));
        }
        let mut object = change(None)?;
        let uid = metadata::text(&object, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(
                Status::conflict(&target.resource.group_resource(), target.name, &why).into()
            );
        }
        metadata::of(&mut object).remove("resourceVersion");
        permit().await?;
        match self.create_owned(target, object, options.write, plan.owners).await {
            Err(error) if error.reason() == Some(&Reason::AlreadyExists) => {
                Ok(Attempt::Overtaken(self.current().await?.get(&target.key()).cloned()))
            }
            created => created.map(Attempt::Done),
        }
    }

    /// Runs the phases once.
    async fn replace<F>(
        &self,
        target: Target<'_>,
        entry: &Entry,
        plan: Plan<'_>,
        change: &mut F,
        clock: &mut PhaseClock,
    ) -> Result<Attempt, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let (options, basis) = (plan.options, self.basis());
        let mut old = stored_codec::decode_converted(target.resource, entry).await?;
        let mut new = change(Some(&old))?;
        let repeated = owners::dedup(&mut new);
        check_revision(target, entry.modified, options, &old, &new)?;
        metadata::of(&mut old).remove("resourceVersion");
        let write = Write { basis, ..plan.write(target, (&old, entry.modified)) };
        self.shape(&write, &mut new, clock).await?;
        let judged = self.judge(&write, &new, clock).await?;
        let (strategy, origin) = (&target.resource.strategy, write.origin());
        let stays = metadata::finalizers(&new).next().is_some() || strategy.is_held(&new);
        let removed =
            metadata::is_terminating(&new) && metadata::grace_seconds(&new) == 0 && !stays;
        let mut admitted = if removed {
            // A removed object gets no allocations.
            let operations = self.give_up(target, &old)?;
            let allocation = Changes { conditions: Vec::new(), operations };
            let terms = self.terms(&write, Some(&new), clock).await?;
            Admitted { allocation, terms, rules: write.rules() }
        } else {
            self.admit(&write, &mut new, clock).await?
        };
        let told = std::mem::take(&mut admitted.terms.warnings);
        let mut warnings: Vec<String> = repeated.into_iter().chain(told).chain(judged).collect();
        match options.part {
            Part::Main | Part::Scale => {
                warnings.extend(strategy.warnings(self.names, Some(&old), &new));
            }
            Part::Status => warnings.extend(strategy.status_warnings(&new)),
            _ => {}
        }
        let (revision, times) = (entry.modified, clock.times());
        let is_same =
            !plan.changes_others() && same_but_for_owners(&old, &new) && same_owners(&old, &new);
        // What another schema had brought into form is written, though no client has changed it.
        let value = if is_same && stored_codec::is_stored_as_now(target.resource, &entry.value) {
            entry.value.clone()
        } else {
            stored_codec::encode_converted(target.resource, &new).await?
        };
        if is_same && value == entry.value {
            let outcome = Outcome::Unchanged;
            return Ok(Attempt::Done(Answer { outcome, value, revision, warnings, times }));
        }
        let key = target.key();
        let outcome = if removed { Outcome::Removed } else { Outcome::Updated };
        let operations = if removed {
            let companions = strategy.companions(Step::Removed, target.name);
            [vec![Operation::Delete { key: key.clone() }], companions].concat()
        } else {
            vec![Operation::Put { key: key.clone(), value: value.clone() }]
        };
        let conditions = vec![Condition::Modified { key, revision }];
        let txn = Txn { conditions, operations, ..Txn::default() };
        plan.add_others(&mut admitted);
        let committed = self.commit(txn, admitted, origin, options.write.dry_run, clock).await?;
        let done = |at: Option<Revision>| {
            let (revision, times) = (at.unwrap_or(revision), clock.times());
            Attempt::Done(Answer { outcome, value, revision, warnings, times })
        };
        self.attempt(target, committed, done).await
    }

    /// The outcome of an attempt to write an object over its last state.
    pub(super) async fn attempt(
        &self,
        target: Target<'_>,
        committed: Result<Option<Revision>, Lost>,
        done: impl FnOnce(Option<Revision>) -> Attempt,
    ) -> Result<Attempt, Error> {
        Ok(match committed {
            Ok(revision) => done(revision),
            // All phases run again.
            Err(Lost::Terms | Lost::Rules) => Attempt::Terms,
            Err(Lost::Allocation) => {
                Attempt::Overtaken(self.current().await?.get(&target.key()).cloned())
            }
            Err(Lost::Own { current, .. }) => Attempt::Overtaken(current),
        })
    }
}

impl Plan<'_> {
    fn write<'s>(
        &'s self,
        target: Target<'s>,
        (old, revision): (&'s Value, Revision),
    ) -> Write<'s> {
        let UpdateOptions { write, part, named, .. } = self.options;
        Write {
            operation: AdmissionOperation::Update,
            part,
            old: Some(old),
            revision: Some(revision),
            named,
            ..Write::create(target, write, self.owners)
        }
    }

    /// Whether other keys change, whatever the object does.
    fn changes_others(&self) -> bool {
        self.beside.is_some_and(|beside| !beside.operations.is_empty())
    }

    /// Adds the other keys to the transaction.
    fn add_others(&self, admitted: &mut Admitted) {
        if let Some(beside) = self.beside {
            admitted.allocation.conditions.extend(beside.conditions.iter().cloned());
            admitted.allocation.operations.extend(beside.operations.iter().cloned());
        }
    }
}

/// Checks that the change may replace this revision of the object.
fn check_revision(
    target: Target<'_>,
    current: Revision,
    options: UpdateOptions<'_>,
    old: &Value,
    new: &Value,
) -> Result<(), Error> {
    let asked = metadata::text(new, "resourceVersion");
    let is_current = |asked: &str| asked.parse() == Ok(current.get());
    let unconditional = asked.is_empty() || asked == "0";
    if options.replaces && unconditional && !target.resource.strategy.unconditional_update() {
        let cause =
            Cause::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        let kind = quorate_meta::GroupKind::new(
            target.resource.group.as_str(),
            target.resource.plural.as_str(),
        );
        return Err(Status::invalid(&kind, target.name, vec![cause]).into());
    }
    let matches = options
        .if_match
        .is_none_or(|header| header.split(',').any(|tag| matches_tag(tag, is_current)));
    if !matches || (!unconditional && !is_current(asked)) {
        return Err(stale(target));
    }
    let (uid, asked_uid) = (metadata::text(old, "uid"), metadata::text(new, "uid"));
    if options.replaces && !asked_uid.is_empty() && asked_uid != uid {
        let why = format!(
            "Precondition failed: UID in precondition: {asked_uid}, UID in object meta: {uid}"
        );
        return Err(Status::conflict(&target.resource.group_resource(), target.name, &why).into());
    }
    Ok(())
}

/// Whether an entity tag (quoted or not, or `*`) matches the current revision. A part of a tag that
/// has a comma in it matches none.
fn matches_tag(tag: &str, is_current: impl Fn(&str) -> bool) -> bool {
    // Only spaces and tabs are white space here (RFC 9110).
    let tag = tag.trim_matches(|c: char| matches!(c, ' ' | '\t'));
    let quoted = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    tag == "*" || is_current(quoted.unwrap_or(tag))
}
