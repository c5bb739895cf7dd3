//! Create: one transaction on the condition that the name is free and the namespace live.

use bytes::Bytes;
use quorate_meta::{Status, Time, Value, name};
use quorate_store::{Condition, Operation, Outcome as Decision, Revision, Txn};

use super::options::{Owners, Target, WriteOptions};
use super::writer::{Answer, Outcome, Writer, crowded_out, invalid, stale};
use super::{metadata, owners};
use crate::error::Error;
use crate::keys::Key;
use crate::ownership::Claim;
use crate::write::allocation::Changes;
use crate::{Part, Step, Terms, stored_codec};

/// How often a creation is tried: each time with another name, if it is generated, or under terms that have changed.
const MAX_ATTEMPTS: usize = 32;
/// How many generated names are tried.
const MAX_NAMES: usize = 8;

/// Why a transaction that creates did not commit.
enum Refused {
    Namespace(Revision),
    Exists,
    /// Somebody else has taken what was chosen for it.
    Taken,
    /// Others have changed the terms under which it was let through.
    Terms,
}

impl Writer {
    /// Creates an object. `target.name` is ignored: the name is the object's own, or made from its `generateName`.
    ///
    /// # Errors
    /// 409 when the name is taken, 404 or 403 when the namespace takes no objects, 422 for an invalid object, 429 when others
    /// have changed its terms again and again.
    pub async fn create(&self, target: Target<'_>, object: Value, options: WriteOptions<'_>) -> Result<Answer, Error> {
        self.create_owned(target, object, options, Owners::Change).await
    }

    /// The same for an object whose owners may be settled already.
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
        let repeated = owners::dedup(&mut object);
        let (now, uid) = (self.now(), metadata::new_uid(&*self.env.entropy));
        let namespace = target.namespace.filter(|_| resource.namespaced);
        metadata::begin(&mut object, namespace, uid, now, resource.strategy.counts_generations());
        let prefix = Some(metadata::text(&object, "generateName").to_owned())
            .filter(|prefix| !prefix.is_empty() && metadata::text(&object, "name").is_empty());
        // What follows from a name must follow from the last one that is tried.
        let unnamed = prefix.as_ref().map(|_| object.clone());
        let (mut names_taken, mut terms_changed) = (0, 0);
        for turn in 0..MAX_ATTEMPTS {
            if let (Some(prefix), Some(unnamed)) = (&prefix, &unnamed) {
                if turn > 0 {
                    object.clone_from(unnamed);
                }
                metadata::of(&mut object).insert("name", self.generate(prefix));
                resource.strategy.default(self.names, &mut object);
            }
            let name = metadata::text(&object, "name").to_owned();
            let target = Target { resource, namespace, name: &name };
            if turn == 0 || prefix.is_some() {
                self.prepare(target, &mut object, options, owners, now).await?;
            }
            if let Err(refusal) = self.give(target, None, &object).await {
                return Err(self.refuse_creation(target, refusal).await?);
            }
            let mut causes = self.problems(resource, &object);
            causes.extend(resource.strategy.validate_create(self.names, &object));
            if !causes.is_empty() {
                return Err(self.refuse_creation(target, invalid(resource, &name, causes)).await?);
            }
            self.permit(target, Part::Main, None, &object).await?;
            let refused = match self.attempt_creation(target, &object, options).await? {
                Ok(answer) => {
                    let warnings = repeated.into_iter().chain(answer.warnings).collect();
                    return Ok(Answer { warnings, ..answer });
                }
                Err(refused) => refused,
            };
            match refused {
                // What was chosen from has changed.
                Refused::Taken => drop(self.current().await?),
                Refused::Terms => {
                    terms_changed += 1;
                    self.give_way(terms_changed).await;
                    drop(self.current().await?);
                }
                Refused::Exists if prefix.is_some() => {
                    names_taken += 1;
                    if names_taken == MAX_NAMES {
                        return Err(Status::generated_name_exists(&resource.group_resource(), &name).into());
                    }
                }
                Refused::Exists => return Err(Status::already_exists(&resource.group_resource(), &name).into()),
                Refused::Namespace(at) => self.look_at_namespace(target, at).await?,
            }
        }
        let target = Target { resource, namespace, name: metadata::text(&object, "name") };
        Err(if terms_changed > 0 { crowded_out(target) } else { stale(target) })
    }

    /// Gives a new object everything that its creator does not decide, once it has a name.
    async fn prepare(
        &self,
        target: Target<'_>,
        object: &mut Value,
        options: WriteOptions<'_>,
        owners: Owners,
        now: Time,
    ) -> Result<(), Error> {
        let resource = target.resource;
        if owners == Owners::Change {
            let claim = Claim { resource, part: Part::Main, manager: options.manager, now };
            claim.track(None, object, None);
        }
        if let Err(refusal) = self.complete_new(target, object, options.dry_run).await {
            return Err(self.refuse_creation(target, refusal).await?);
        }
        resource.strategy.prepare_create(self.names, object);
        resource.strategy.disabled().iter().for_each(|disabled| disabled.clear(None, object));
        resource.strategy.stamp(self.names, None, object, now);
        resource.strategy.created_by(self.author(), object);
        Ok(())
    }

    /// Chooses what the object lacks, and proposes it.
    async fn attempt_creation(
        &self,
        target: Target<'_>,
        object: &Value,
        options: WriteOptions<'_>,
    ) -> Result<Result<Answer, Refused>, Error> {
        let strategy = &target.resource.strategy;
        let mut chosen = strategy.holder().map(|_| object.clone());
        let held = match &mut chosen {
            Some(chosen) => self.hold(target, Part::Main, None, chosen).await,
            None => Ok(Changes::default()),
        };
        let held = match held {
            Ok(held) => held,
            Err(refusal) => return Err(self.refuse_creation(target, refusal).await?),
        };
        let object = chosen.as_ref().unwrap_or(object);
        let mut terms = match self.admit(target, Part::Main, None, object, options.dry_run).await {
            Ok(terms) => terms,
            Err(refusal) => return Err(self.refuse_creation(target, refusal).await?),
        };
        let mut warnings = std::mem::take(&mut terms.warnings);
        let value = stored_codec::encode(target.resource, object)?;
        let proposed = self.propose_creation(target, value.clone(), held, terms, options.dry_run).await?;
        Ok(proposed.map(|revision| {
            warnings.extend(strategy.warnings(self.names, None, object));
            Answer { outcome: Outcome::Created, value, revision, warnings }
        }))
    }

    fn generate(&self, prefix: &str) -> String {
        let mut entropy = [0; 8];
        self.env.entropy.fill(&mut entropy);
        name::generate(prefix, entropy)
    }

    /// The refusal of an invalid object, unless its namespace is the first thing that is wrong.
    async fn refuse_creation(&self, target: Target<'_>, refusal: Error) -> Result<Error, Error> {
        if self.namespace_refusal(&self.store.snapshot(), target).is_none() {
            return Ok(refusal);
        }
        Ok(self.namespace_refusal(&self.current().await?, target).unwrap_or(refusal))
    }

    /// Refuses what the namespace takes no more at this revision, unless another one of its name has begun meanwhile.
    async fn look_at_namespace(&self, target: Target<'_>, at: Revision) -> Result<(), Error> {
        let snapshot = self.state_at_least(at).await;
        match self.namespace_refusal(&snapshot, target) {
            Some(refusal) => Err(refusal),
            None if snapshot.revision() < at => Err(stale(target)),
            None => Ok(()),
        }
    }

    async fn propose_creation(
        &self,
        target: Target<'_>,
        value: Bytes,
        held: Changes,
        terms: Terms,
        dry_run: bool,
    ) -> Result<Result<Revision, Refused>, Error> {
        let key = target.key();
        let live = target.namespace.map(|namespace| Key::Live { namespace }.encode());
        let mut conditions = Vec::with_capacity(2);
        conditions.extend(live.clone().map(|key| Condition::Exists { key }));
        let free = conditions.len();
        conditions.push(Condition::Modified { key: key.clone(), revision: Revision::ZERO });
        conditions.extend(held.conditions);
        let of_terms = conditions.len();
        conditions.extend(terms.conditions);
        let mut operations = vec![Operation::Put { key: key.clone(), value }];
        operations.extend(held.operations);
        operations.extend(terms.operations);
        operations.extend(target.resource.strategy.companions(Step::Created, target.name));
        let txn = Txn { conditions, operations };
        if dry_run {
            self.rehearse(&txn)?;
            let snapshot = self.current().await?;
            if live.is_some_and(|live| snapshot.get(&live).is_none()) {
                return Ok(Err(Refused::Namespace(snapshot.revision())));
            }
            return Ok(if snapshot.get(&key).is_some() { Err(Refused::Exists) } else { Ok(Revision::ZERO) });
        }
        Ok(match self.decide(txn).await? {
            Decision::Committed { revision } => Ok(revision),
            Decision::Conflict { condition, .. } if condition == free => Err(Refused::Exists),
            Decision::Conflict { condition, .. } if condition >= of_terms => Err(Refused::Terms),
            Decision::Conflict { condition, .. } if condition > free => Err(Refused::Taken),
            Decision::Conflict { revision, .. } => Err(Refused::Namespace(revision)),
        })
    }
}
