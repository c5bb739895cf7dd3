//! Update, patch and apply: a change is made from the newest state at hand, and proposed on the condition that it is still the
//! newest; when it is not, the store hands back what is, and the change is made again from that.

use bytes::Bytes;
use futures::future::BoxFuture;
use quorate_meta::{Cause, Status, Value};
use quorate_schema::managed::{same_but_for_owners, same_owners};
use quorate_store::{Condition, Entry, Operation, Outcome as Decision, Revision, Txn};

use super::options::{Owners, Target, UpdateOptions};
use super::writer::{Answer, Outcome, Writer, crowded_out, invalid, not_found, revision, stale};
use super::{check, metadata, owners};
use crate::error::Error;
use crate::ownership::Claim;
use crate::write::allocation::Changes;
use crate::{Part, Step, stored_codec};

/// How often a change is made, each time because the object has changed meanwhile, or its terms have; then it is refused with
/// a 409, or a 429.
const MAX_ATTEMPTS: usize = 32;

/// What became of one attempt.
enum Attempt {
    Done(Answer),
    /// The object is something else by now: at a revision that is known to have been current.
    Overtaken(Option<Entry>),
    /// Others have changed the terms under which it was let through.
    Terms,
}

/// Asked before an absent object is created.
pub type Permit<'a> = &'a (dyn Fn() -> BoxFuture<'a, Result<(), Error>> + Sync);

/// How an object is changed.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) options: UpdateOptions<'a>,
    /// What becomes of the owners of its fields.
    pub(super) owners: Owners,
    /// Given when an absent object is to be created.
    pub(super) creation: Option<Permit<'a>>,
}

/// What a change is made from.
struct Known {
    entry: Option<Entry>,
    /// Whether it was the newest state at some moment since the request came in.
    current: bool,
}

impl Writer {
    /// Changes an object that is there. `change` gets the object as clients see it (`None` when there is none) and gives the new one;
    /// it is called again when the object has changed meanwhile.
    ///
    /// # Errors
    /// 404 for an absent object, 409 when the revision that the change is bound to is not the current one or the object has
    /// changed at each of 32 attempts, 429 when others have changed its terms meanwhile, 422 for an invalid result, and whatever
    /// `change` refuses.
    pub async fn update<F>(&self, target: Target<'_>, options: UpdateOptions<'_>, change: F) -> Result<Answer, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        self.change(target, Plan { options, owners: Owners::Change, creation: None }, change).await
    }

    /// Puts an object in its place: as [`Writer::update`], and an absent object of a kind that updates create is created if
    /// `permit` lets it.
    ///
    /// # Errors
    /// Those of an update and of a create, and whatever `permit` refuses.
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
        self.change(target, Plan { options, owners: Owners::Change, creation }, change).await
    }

    /// Applies to an object: as [`Writer::update`], but what `change` gives says already who owns what, and an absent object
    /// is created if `permit` lets it.
    ///
    /// # Errors
    /// Those of an update and of a create, and whatever `permit` refuses.
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
        self.change(target, Plan { options, owners: Owners::Settled, creation: Some(permit) }, change).await
    }

    async fn change<F>(&self, target: Target<'_>, plan: Plan<'_>, mut change: F) -> Result<Answer, Error>
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
        let mut terms_changed = 0;
        for _ in 0..MAX_ATTEMPTS {
            let attempt = match &known.entry {
                Some(entry) => self.replace(target, &key, entry, plan, &mut change).await,
                None => self.create_by_change(target, plan, &mut change).await,
            };
            match attempt {
                Ok(Attempt::Done(answer)) if known.current || answer.outcome != Outcome::Unchanged => {
                    return Ok(answer);
                }
                Ok(Attempt::Overtaken(entry)) => known = Known { entry, current: true },
                Ok(Attempt::Terms) => {
                    terms_changed += 1;
                    self.give_way(terms_changed).await;
                    known = Known { entry: self.current().await?.get(&key).cloned(), current: true };
                }
                Err(error @ (Error::Store(_) | Error::History(_))) => return Err(error),
                Err(error) if known.current => return Err(error),
                // Told from a state that may be old: look at the current one first.
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
        Err(if terms_changed > 0 { crowded_out(target) } else { stale(target) })
    }

    async fn create_by_change<F>(&self, target: Target<'_>, plan: Plan<'_>, change: &mut F) -> Result<Attempt, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let options = plan.options;
        let Some(permit) = plan.creation.filter(|_| options.part == Part::Main) else { return Err(not_found(target)) };
        if options.if_match.is_some() {
            return Err(stale(target));
        }
        let mut object = change(None)?;
        let uid = metadata::text(&object, "uid");
        if !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Status::conflict(&target.resource.group_resource(), target.name, &why).into());
        }
        metadata::of(&mut object).remove("resourceVersion");
        permit().await?;
        match self.create_owned(target, object, options.write, plan.owners).await {
            Err(Error::Status(status)) if status.reason == quorate_meta::Reason::AlreadyExists => {
                Ok(Attempt::Overtaken(self.current().await?.get(&target.key()).cloned()))
            }
            created => created.map(Attempt::Done),
        }
    }

    async fn replace<F>(
        &self,
        target: Target<'_>,
        key: &Bytes,
        entry: &Entry,
        plan: Plan<'_>,
        change: &mut F,
    ) -> Result<Attempt, Error>
    where
        F: FnMut(Option<&Value>) -> Result<Value, Error> + Send,
    {
        let options = plan.options;
        let mut old = stored_codec::decode(target.resource, entry)?;
        let mut new = change(Some(&old))?;
        let repeated = owners::dedup(&mut new);
        check_revision(target, entry.modified, options, &old, &new)?;
        metadata::of(&mut old).remove("resourceVersion");
        self.complete(target, plan, &old, &mut new);
        self.give(target, Some(&old), &new).await?;
        let causes = self.change_problems(target, options.part, &old, &new);
        if !causes.is_empty() {
            return Err(invalid(target.resource, target.name, causes));
        }
        self.permit(target, options.part, Some(&old), &new).await?;
        let strategy = &target.resource.strategy;
        let stays = metadata::finalizers(&new).next().is_some() || strategy.is_held(&new);
        let removed = metadata::is_terminating(&new) && metadata::grace_seconds(&new) == 0 && !stays;
        let held = if removed {
            Changes { conditions: Vec::new(), operations: self.give_up(target, &old)? }
        } else {
            self.hold(target, options.part, Some(&old), &mut new).await?
        };
        let terms = self.admit(target, options.part, Some(&old), &new, options.write.dry_run).await?;
        let mut warnings: Vec<String> = repeated.into_iter().chain(terms.warnings).collect();
        if matches!(options.part, Part::Main | Part::Scale) {
            warnings.extend(strategy.warnings(self.names, Some(&old), &new));
        }
        if same_but_for_owners(&old, &new) && same_owners(&old, &new) {
            let (value, revision) = (entry.value.clone(), entry.modified);
            return Ok(Attempt::Done(Answer { outcome: Outcome::Unchanged, value, revision, warnings }));
        }
        let value = stored_codec::encode(target.resource, &new)?;
        let (outcome, mut operations) = if removed {
            let companions = strategy.companions(Step::Removed, target.name);
            (Outcome::Removed, [vec![Operation::Delete { key: key.clone() }], companions].concat())
        } else {
            (Outcome::Updated, vec![Operation::Put { key: key.clone(), value: value.clone() }])
        };
        operations.extend(held.operations);
        operations.extend(terms.operations);
        let mut conditions = vec![Condition::Modified { key: key.clone(), revision: entry.modified }];
        conditions.extend(held.conditions);
        let of_terms = conditions.len();
        conditions.extend(terms.conditions);
        let txn = Txn { conditions, operations };
        if options.write.dry_run {
            self.rehearse(&txn)?;
            return Ok(Attempt::Done(Answer { outcome, value, revision: entry.modified, warnings }));
        }
        Ok(match self.decide(txn).await? {
            Decision::Committed { revision } => Attempt::Done(Answer { outcome, value, revision, warnings }),
            Decision::Conflict { condition, .. } if condition >= of_terms => Attempt::Terms,
            // Somebody else has taken what was chosen.
            Decision::Conflict { condition, .. } if condition > 0 => {
                Attempt::Overtaken(self.current().await?.get(key).cloned())
            }
            Decision::Conflict { current, .. } => Attempt::Overtaken(current),
        })
    }

    /// Gives the new object everything that its writer does not decide.
    pub(super) fn complete(&self, target: Target<'_>, plan: Plan<'_>, old: &Value, new: &mut Value) {
        let (resource, part) = (target.resource, plan.options.part);
        metadata::keep(old, new);
        if plan.owners == Owners::Change {
            Claim { resource, part, manager: plan.options.write.manager, now: self.now() }.track(
                Some(old),
                new,
                plan.options.named,
            );
        }
        resource.strategy.prepare_update(self.names, part, old, new);
        resource.strategy.disabled().iter().for_each(|disabled| disabled.clear(Some(old), new));
        resource.strategy.stamp(self.names, Some(old), new, self.now());
        // Whoever writes a status says nothing of what is wanted, whatever else of the object the write changes.
        if part != Part::Status && resource.strategy.changes_intent(old, new) {
            metadata::next_generation(new);
        }
    }

    fn change_problems(&self, target: Target<'_>, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = check::metadata_update(old, new);
        causes.extend(self.problems(target.resource, new));
        causes.extend(target.resource.strategy.validate_update(self.names, part, old, new));
        causes
    }
}

/// Whether the change may replace this revision of the object.
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
        let cause = Cause::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        let kind = quorate_meta::GroupKind::new(target.resource.group.as_str(), target.resource.plural.as_str());
        return Err(Status::invalid(&kind, target.name, vec![cause]).into());
    }
    let matches = options.if_match.is_none_or(|header| header.split(',').any(|tag| matches_tag(tag, is_current)));
    if !matches || (!unconditional && !is_current(asked)) {
        return Err(stale(target));
    }
    let (uid, asked_uid) = (metadata::text(old, "uid"), metadata::text(new, "uid"));
    if options.replaces && !asked_uid.is_empty() && asked_uid != uid {
        let why = format!("Precondition failed: UID in precondition: {asked_uid}, UID in object meta: {uid}");
        return Err(Status::conflict(&target.resource.group_resource(), target.name, &why).into());
    }
    Ok(())
}

/// Whether an entity tag (quoted or not, or `*`) names the current revision. A piece of a tag that has a comma in it names none.
fn matches_tag(tag: &str, is_current: impl Fn(&str) -> bool) -> bool {
    // White space of other alphabets belongs to the tag.
    let tag = tag.trim_matches(|c: char| matches!(c, ' ' | '\t'));
    let quoted = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    tag == "*" || is_current(quoted.unwrap_or(tag))
}
