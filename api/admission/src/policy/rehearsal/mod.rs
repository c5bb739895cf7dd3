//! Rehearsal: what candidate policies would have said of the writes that the store remembers, and of
//! the objects that are there.
//!
//! A rehearsal is made in steps, so that a request never takes long and its client sees how far it
//! is: first the changes from a time on, in order, then every object as if it were created. Changes are
//! those of the archive, and where there is none those that the store keeps for watches.
//!
//! Invariants: nothing is enforced, noted or written; each step looks at a bounded number of writes;
//! candidates are asked by the code that policies in force are asked by. The user of a write and the
//! subresource are those that were recorded with it, where they were; the server itself otherwise. What
//! is not remembered is taken as follows: the authorizer allows everything; namespaces and parameters
//! are those of now.
//!
//! Not here: webhooks, which would be called.

mod archived;
mod changed_fields;
mod place;
mod write;

use bytes::Bytes;
use quorate_meta::Value;
use quorate_registry::derived::{Derived, ObjectChange};
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, keys, stored_codec};
use quorate_store::{Event, HistoryError, Revision};

use super::index::{BINDINGS, MUTATING_BINDINGS, MUTATING_POLICIES, POLICIES, Policies};
use super::{Judge, Mutator, PolicyIndex, is_exempt};
use crate::Admission;
use crate::matching::questions::Questions;
use changed_fields::changed_fields;
pub use place::{InvalidPlace, Place};
use write::{RecordedWrite, WriteAbout};

/// Writes that one step looks at.
const WRITES_PER_STEP: usize = 1000;

/// 400 for an object that is no candidate.
const NO_CANDIDATE: &str = "only admission policies and their bindings can be rehearsed";

/// The candidates.
pub struct Rehearsal<'r> {
    admission: &'r Admission,
    index: &'r PolicyIndex,
    policies: Policies,
}

/// What a step has found, and where the next one goes on.
#[derive(Debug, Default)]
pub struct Step {
    /// The writes that were looked at, of resources that the candidates may match.
    pub writes: usize,
    /// What candidates say of them, in order.
    pub verdicts: Vec<Verdict>,
    /// `None` when everything was looked at.
    pub next: Option<Place>,
    /// The time of the oldest change that was looked at, in milliseconds since the Unix epoch.
    pub oldest_ms: Option<u64>,
    /// Transactions in between that this node's archive does not have.
    pub missing: u64,
}

/// What a candidate would have said of one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// `Deny`, `Warn`, `Audit`, or `Change` for what mutating policies do.
    pub action: &'static str,
    /// What the client or the audit event would have been told.
    pub message: String,
    /// The operation; that of an object that is there is `CREATE`.
    pub operation: &'static str,
    /// `PLURAL.GROUP`, with the subresource after a slash.
    pub resource: String,
    /// Empty for what is in none.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// Who changed the object last, by its managed fields; empty where they do not tell.
    pub manager: String,
    /// Who wrote: the user, or the part of the server; empty where that is not known.
    pub user: String,
    /// The revision of the write; `None` for an object that is there.
    pub revision: Option<Revision>,
    /// When the write was made, in milliseconds since the Unix epoch; `None` for an object that is there.
    pub time_ms: Option<u64>,
}

impl<'r> Rehearsal<'r> {
    /// A rehearsal of these policies and bindings.
    ///
    /// # Errors
    /// 400 when there is something else among them, or no policy; 404 where policies are not
    /// served.
    pub fn new(admission: &'r Admission, candidates: &[Value]) -> Result<Self, Error> {
        let index = admission.policies.as_deref().ok_or_else(Error::no_such_path)?;
        let mut policies = Policies::default();
        let mut has_policy = false;
        for object in candidates {
            let plural = match object.str_at(&["kind"]) {
                Some("ValidatingAdmissionPolicy") => POLICIES,
                Some("ValidatingAdmissionPolicyBinding") => BINDINGS,
                Some("MutatingAdmissionPolicy") => MUTATING_POLICIES,
                Some("MutatingAdmissionPolicyBinding") => MUTATING_BINDINGS,
                _ => return Err(Error::bad_request(NO_CANDIDATE)),
            };
            has_policy |= matches!(plural, POLICIES | MUTATING_POLICIES);
            policies.update(ObjectChange {
                plural,
                names: index.names(),
                namespace: "",
                name: object.str_at(&["metadata", "name"]).unwrap_or_default(),
                old: None,
                new: Some(object),
                at: Revision::ZERO,
            });
        }
        if !has_policy {
            return Err(Error::bad_request("there is no policy to rehearse"));
        }
        policies.finish();
        Ok(Self { admission, index, policies })
    }

    /// Looks at the next writes.
    ///
    /// # Errors
    /// 410 when the changes at this place are no longer kept, 503 while the archive cannot be read.
    pub async fn step(&self, place: Place) -> Result<Step, Error> {
        match place {
            Place::Changes { after, since_ms } => match self.admission.store.past() {
                Some(past) => self.archived(&*past, after, since_ms).await,
                None => self.kept(after, since_ms).await,
            },
            Place::Objects { after } => self.objects(after).await,
        }
    }

    /// Looks at changes that are kept for watches, after a revision or all, from a time on.
    async fn kept(&self, after: Option<Revision>, since_ms: u64) -> Result<Step, Error> {
        let (catalogue, store) = (self.admission.catalogue.load(), &self.admission.store);
        let mut step = Step::default();
        let mut watch = match after {
            Some(after) => store.watch(keys::objects(), after)?,
            // What is kept may move on meanwhile.
            None => match store.watch(keys::objects(), store.status().oldest) {
                Err(HistoryError::Compacted { oldest }) => store.watch(keys::objects(), oldest)?,
                watch => watch?,
            },
        };
        while let Some(batch) = watch.try_next()? {
            if batch.time_ms() < since_ms {
                tokio::task::consume_budget().await;
                continue;
            }
            step.oldest_ms.get_or_insert(batch.time_ms());
            for event in batch.events() {
                let about = WriteAbout {
                    revision: batch.revision(),
                    time_ms: batch.time_ms(),
                    origin: None,
                };
                self.look(&catalogue, event, about, &mut step).await?;
            }
            if step.writes >= WRITES_PER_STEP {
                step.next = Some(Place::Changes { after: Some(batch.revision()), since_ms });
                return Ok(step);
            }
        }
        step.next = Some(Place::Objects { after: Bytes::new() });
        Ok(step)
    }

    /// Asks the candidates about the write that a change was made by, if it was one that they may match.
    async fn look(
        &self,
        catalogue: &Catalogue,
        event: &Event,
        about: WriteAbout<'_>,
        step: &mut Step,
    ) -> Result<(), Error> {
        let resource = catalogue.of_key(&event.key);
        if !resource.is_some_and(|resource| self.may_match(&resource.plural)) {
            return Ok(());
        }
        let Some(write) = RecordedWrite::of_event(catalogue, event, about)? else { return Ok(()) };
        step.writes += 1;
        self.ask(&write, step).await
    }

    /// Looks at the objects whose keys come after this one.
    async fn objects(&self, after: Bytes) -> Result<Step, Error> {
        let (catalogue, snapshot) =
            (self.admission.catalogue.load(), self.admission.store.snapshot());
        let stored = catalogue.stored().filter(|resource| self.may_match(&resource.plural));
        let mut prefixes: Vec<_> = stored.map(|found| (found.prefix(None), found)).collect();
        prefixes.sort_by(|(prefix, _), (other, _)| prefix.cmp(other));
        let mut step = Step::default();
        for (prefix, resource) in prefixes {
            if prefix < after && !after.starts_with(&prefix) {
                continue;
            }
            for (key, entry) in snapshot.range(&prefix, Some(&after)) {
                let object = stored_codec::decode(resource, entry)?;
                step.writes += 1;
                let write = RecordedWrite::of_object(resource, object);
                self.ask(&write, &mut step).await?;
                if step.writes >= WRITES_PER_STEP {
                    step.next = Some(Place::Objects { after: key.clone() });
                    return Ok(step);
                }
            }
        }
        Ok(step)
    }

    fn may_match(&self, plural: &str) -> bool {
        self.policies.validating.may_match(plural) || self.policies.mutating.may_match(plural)
    }

    async fn ask(&self, write: &RecordedWrite<'_>, step: &mut Step) -> Result<(), Error> {
        tokio::task::consume_budget().await;
        if is_exempt(self.index.names(), write.resource) {
            return Ok(());
        }
        let mut told = Vec::new();
        let mutated = self.mutate(write, &mut told).await?;
        let mut attributes = write.attributes();
        attributes.new = mutated.as_ref().or(attributes.new);
        let Admission { catalogue, store, .. } = self.admission;
        let judge = Judge { index: self.index, catalogue, store };
        let report = judge.report(&self.policies, &attributes, &mut Questions::new(None)).await?;
        told.extend(report.told());
        step.verdicts.extend(told.into_iter().map(|(action, message)| Verdict {
            action,
            message,
            operation: write.operation(),
            resource: write.resource_name(),
            namespace: write.namespace().unwrap_or_default().to_owned(),
            name: write.name().to_owned(),
            manager: write.manager(),
            user: write.user().to_owned(),
            revision: write.revision,
            time_ms: write.time_ms,
        }));
        Ok(())
    }

    /// The object as mutating candidates would have left it; `None` where none changes it.
    async fn mutate(
        &self,
        write: &RecordedWrite<'_>,
        told: &mut Vec<(&'static str, String)>,
    ) -> Result<Option<Value>, Error> {
        let attributes = write.attributes();
        let Some(object) = attributes.new else { return Ok(None) };
        if !self.policies.mutating.may_match(&write.resource.plural) {
            return Ok(None);
        }
        let Admission { catalogue, store, .. } = self.admission;
        let mutator = Mutator { index: self.index, catalogue, store };
        let rehearsed = mutator.rehearse(&self.policies, &attributes).await?;
        told.extend(rehearsed.refusal.map(|refusal| ("Deny", refusal)));
        let fields = changed_fields(object, &rehearsed.object);
        if fields.is_empty() {
            return Ok(None);
        }
        let by = rehearsed.by.iter().map(|name| format!("'{name}'"));
        let by = by.collect::<Vec<_>>().join(", ");
        told.push(("Change", format!("changed by policy {by}: {}", fields.join(", "))));
        Ok(Some(rehearsed.object))
    }
}
