//! The writer: what every write shares.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_env::Env;
use quorate_meta::{Cause, GroupResource, Names, Status, Time, Value, quoted};
use quorate_store::{Entry, Outcome as Decision, Revision, Snapshot, Store, Txn};

use super::options::Target;
use super::{check, metadata};
use crate::error::Error;
use crate::keys::Key;
use crate::{Admission, Author, Change, NAMESPACES, Part, Resource, Terms, Who, stored_codec};

/// How long a refusal waits for this node to see the state that it is based on.
const CATCH_UP: Duration = Duration::from_secs(2);
/// Milliseconds that a write which others get in the way of pauses at most.
const LONGEST_PAUSE_MS: u64 = 64;
/// Seconds that its writer is asked to wait when it is given up.
const RETRY_AFTER_SECONDS: u32 = 1;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The object is new.
    Created,
    /// The object has changed.
    Updated,
    /// The object was as wished already; nothing was written.
    Unchanged,
    /// The object's deletion has begun; something still holds it.
    Terminating,
    /// The object is gone.
    Removed,
}

/// A write that was carried out (or, in a dry run, would have been).
#[derive(Debug, Clone)]
pub struct Answer {
    /// What became of it.
    pub outcome: Outcome,
    /// The object in its stored form: its new state, or its last one.
    pub value: Bytes,
    /// The revision of that state; zero for an object that a dry run did not create.
    pub revision: Revision,
    /// What the writer should know although nothing was wrong.
    pub warnings: Vec<String>,
}

/// Writes objects of every kind. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    pub(crate) names: &'static Names,
    pub(super) store: Arc<dyn Store>,
    pub(super) env: Env,
    author: Option<Arc<dyn Author>>,
    admission: Option<Arc<dyn Admission>>,
}

impl Writer {
    /// A writer to this store.
    #[must_use]
    pub fn new(names: &'static Names, store: Arc<dyn Store>, env: Env) -> Self {
        Self { names, store, env, author: None, admission: None }
    }

    /// The same writer on behalf of somebody. Without this it writes for the server itself.
    #[must_use]
    pub fn on_behalf_of(self, author: Arc<dyn Author>) -> Self {
        Self { author: Some(author), ..self }
    }

    /// The same writer, whose writes are looked at first. Without this nothing but the kinds themselves decides about them.
    #[must_use]
    pub fn admitted_by(self, admission: Arc<dyn Admission>) -> Self {
        Self { admission: Some(admission), ..self }
    }

    pub(super) fn now(&self) -> Time {
        Time::from_ms(self.env.clock.now_ms())
    }

    /// A state that is current: everything acknowledged before the call is in it.
    pub(super) async fn current(&self) -> Result<Snapshot, Error> {
        self.store.read_index().await?;
        Ok(self.store.snapshot())
    }

    /// Who writes; `None` for the server itself.
    pub(super) fn author(&self) -> Option<Who<'_>> {
        self.author.as_ref().map(|author| author.who())
    }

    /// Refuses what the author lacks a permission for that the kind asks for.
    pub(super) async fn permit(
        &self,
        target: Target<'_>,
        part: Part,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Error> {
        let Some(author) = &self.author else { return Ok(()) };
        let resource = target.resource;
        let name = metadata::text(new, "name");
        let refuse = |why: &str| Err(Status::forbidden(&resource.group_resource(), name, why).into());
        let permission = match resource.strategy.permission(self.names, part, old, new) {
            Ok(None) => return Ok(()),
            Ok(Some(permission)) => permission,
            Err(why) => return refuse(&why),
        };
        for name in &permission.names {
            if author.may(&permission, name).await? {
                return Ok(());
            }
        }
        refuse(&permission.refusal)
    }

    /// Refuses an object that the author may not write, or that gives away rights which they may not give.
    pub(super) async fn give(&self, target: Target<'_>, old: Option<&Value>, new: &Value) -> Result<(), Error> {
        let Some(author) = &self.author else { return Ok(()) };
        author.write(target, old, new)?;
        match target.resource.strategy.gift(old, new) {
            Some(gift) => author.give(target, &gift).await,
            None => Ok(()),
        }
    }

    /// Gives a new object what others say that it should have.
    pub(super) async fn complete_new(
        &self,
        target: Target<'_>,
        object: &mut Value,
        dry_run: bool,
    ) -> Result<(), Error> {
        let Some(admission) = &self.admission else { return Ok(()) };
        let change = Change { target, part: Part::Main, old: None, who: self.author(), dry_run };
        admission.complete(&change, object).await
    }

    /// Refuses what others do not let through; gives the terms of what they do.
    pub(super) async fn admit(
        &self,
        target: Target<'_>,
        part: Part,
        old: Option<&Value>,
        new: &Value,
        dry_run: bool,
    ) -> Result<Terms, Error> {
        let Some(admission) = &self.admission else { return Ok(Terms::default()) };
        admission.check(&Change { target, part, old, who: self.author(), dry_run }, new).await
    }

    /// Waits before a write is made again whose terms others have changed: at random, so that they do not meet again, and longer each time.
    pub(super) async fn give_way(&self, times: u32) {
        let longest = 2_u64.saturating_pow(times).min(LONGEST_PAUSE_MS);
        let mut bytes = [0; 4];
        self.env.entropy.fill(&mut bytes);
        let pause = 1 + u64::from(u32::from_le_bytes(bytes)) % longest;
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }

    /// Everything wrong with an object, whoever wrote it.
    pub(super) fn problems(&self, resource: &Resource, object: &Value) -> Vec<Cause> {
        let mut causes = check::metadata(self.names, resource.strategy.name_rule(), object);
        if resource.strategy.checks_structure() {
            let own = resource.strategy.judges();
            let missing = stored_codec::structure_problems(resource, object);
            causes.extend(missing.into_iter().filter(|cause| !own.contains(&cause.field.as_str())));
        }
        causes.extend(resource.strategy.validate(self.names, object));
        causes
    }

    /// Proposes a transaction.
    pub(super) async fn decide(&self, txn: Txn) -> Result<Decision, Error> {
        Ok(self.store.txn(txn).await?)
    }

    /// Refuses a transaction that would not be proposed either: what a dry run does in place of proposing it.
    pub(super) fn rehearse(&self, txn: &Txn) -> Result<(), Error> {
        Ok(self.store.limits().check_txn(txn).map_err(quorate_store::Error::from)?)
    }

    /// Why a namespace takes no new object: it does not exist, or it is being deleted. `None` when it takes them.
    pub(super) fn namespace_refusal(&self, snapshot: &Snapshot, target: Target<'_>) -> Option<Error> {
        let namespace = target.namespace?;
        if snapshot.get(&Key::Live { namespace }.encode()).is_some() {
            return None;
        }
        let key = Key::Object { group: "", resource: NAMESPACES, namespace: None, name: namespace }.encode();
        let status = match snapshot.get(&key) {
            Some(_) => Status::namespace_terminating(&target.resource.group_resource(), target.name, namespace),
            None => Status::not_found(&GroupResource::new("", NAMESPACES), namespace),
        };
        Some(status.into())
    }

    /// This node's state once it has reached a revision (or the wait is over).
    pub(super) async fn state_at_least(&self, revision: Revision) -> Snapshot {
        let waited = tokio::time::timeout(CATCH_UP, self.store.applied(revision)).await;
        if waited.is_err() {
            tracing::warn!(%revision, "this node does not catch up; a refusal is told from an older state");
        }
        self.store.snapshot()
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("naming", &self.names.naming).finish_non_exhaustive()
    }
}

/// 422 for an object.
pub(super) fn invalid(resource: &Resource, name: &str, causes: Vec<Cause>) -> Error {
    Status::invalid(&resource.group_kind(), name, causes).into()
}

/// 409 for a write based on an old state.
pub(super) fn stale(target: Target<'_>) -> Error {
    Status::stale(&target.resource.group_resource(), target.name).into()
}

/// 429 for a write whose terms others changed each time; nothing was written.
pub(super) fn crowded_out(target: Target<'_>) -> Error {
    let (resource, name) = (target.resource.qualified(), quoted(target.name));
    let why = "too many others are charged to the same quotas at this time, please try again";
    Status::too_many_requests(format!("{resource} {name} was not written: {why}"), RETRY_AFTER_SECONDS).into()
}

/// 404 for the object.
pub(super) fn not_found(target: Target<'_>) -> Error {
    Status::not_found(&target.resource.group_resource(), target.name).into()
}

/// The revision of an entry; zero when there is none.
pub(super) fn revision(entry: Option<&Entry>) -> Revision {
    entry.map_or(Revision::ZERO, |entry| entry.modified)
}
