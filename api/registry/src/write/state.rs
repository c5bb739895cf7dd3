//! States that writes read and are refused by, and the back-off before another attempt.
//!
//! Invariant: a state from [`Writer::current`] has everything that was acknowledged before the
//! call.

use std::time::Duration;

use quorate_meta::{GroupResource, Status, Time};
use quorate_store::{Condition, Entry, Revision, Snapshot};

use super::Writer;
use crate::error::Error;
use crate::keys::Key;
use crate::options::Target;
use crate::{DEFINITIONS, EXTENSIONS, NAMESPACES};

/// How long a refusal waits until this node has applied the state that it is based on.
const CATCH_UP: Duration = Duration::from_secs(2);
/// Seconds in `Retry-After` when a definition is newer than what this node knows of it.
const RETRY_AFTER_SECONDS: u32 = 1;
/// Milliseconds of the longest pause before another attempt.
const LONGEST_PAUSE_MS: u64 = 64;

impl Writer {
    pub(super) fn now(&self) -> Time {
        Time::from_ms(self.env.clock.now_ms())
    }

    /// A current state: everything acknowledged before the call is in it.
    pub(super) async fn current(&self) -> Result<Snapshot, Error> {
        self.store.read_index().await?;
        Ok(self.store.snapshot())
    }

    /// Pauses before another attempt of a write whose terms have changed: at random, so that
    /// concurrent writers do not collide again, and longer each time.
    pub(super) async fn back_off(&self, times: u32) {
        let longest = 2_u64.saturating_pow(times).min(LONGEST_PAUSE_MS);
        let mut bytes = [0; 4];
        self.env.entropy.fill(&mut bytes);
        let pause = 1 + u64::from(u32::from_le_bytes(bytes)) % longest;
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }

    /// The refusal of a resource or namespace that takes no new object; `None` when both take them.
    pub(super) fn marker_refusal(&self, snapshot: &Snapshot, target: Target<'_>) -> Option<Error> {
        self.definition_refusal(snapshot, target)
            .or_else(|| self.namespace_refusal(snapshot, target))
    }

    /// The conditions that namespace and resource take a new object, in this order and only those
    /// that there are; the revision of the state in which the resource takes none.
    pub(super) async fn marker_conditions(
        &self,
        target: Target<'_>,
    ) -> Result<Result<Vec<Condition>, Revision>, Error> {
        let namespace = target.namespace.map(|namespace| Key::Live { namespace }.encode());
        let mut conditions: Vec<_> =
            namespace.into_iter().map(|key| Condition::Exists { key }).collect();
        let Some(live) = &target.resource.live else {
            return Ok(Ok(conditions));
        };
        let mut snapshot = self.store.snapshot();
        if snapshot.get(&live.key).is_none() {
            snapshot = self.current().await?;
        }
        let Some(marker) = snapshot.get(&live.key).filter(|marker| live.is_of(&marker.value))
        else {
            return Ok(Err(snapshot.revision()));
        };
        // A definition puts its marker once, so the revision says of which it is.
        let revision = marker.modified;
        conditions.push(Condition::Modified { key: live.key.clone(), revision });
        Ok(Ok(conditions))
    }

    /// The refusal of a custom resource whose definition is terminating or gone, or was created
    /// anew since the request began.
    fn definition_refusal(&self, snapshot: &Snapshot, target: Target<'_>) -> Option<Error> {
        let live = target.resource.live.as_ref()?;
        if let Some(marker) = snapshot.get(&live.key) {
            return (!live.is_of(&marker.value)).then(|| created_anew(target));
        }
        let group = self.names.group(EXTENSIONS);
        let resource = target.resource.group_resource();
        let name = resource.to_string();
        let key =
            Key::Object { group: &group, resource: DEFINITIONS, namespace: None, name: &name };
        Some(match snapshot.get(&key.encode()) {
            Some(_) => Status::forbidden(
                &resource,
                target.name,
                "create not allowed while custom resource definition is terminating",
            )
            .into(),
            None => Error::no_such_path(),
        })
    }

    /// The refusal of a namespace that takes no new object: it does not exist, or it is
    /// terminating. `None` when it takes them.
    fn namespace_refusal(&self, snapshot: &Snapshot, target: Target<'_>) -> Option<Error> {
        let namespace = target.namespace?;
        if snapshot.get(&Key::Live { namespace }.encode()).is_some() {
            return None;
        }
        let key = Key::Object { group: "", resource: NAMESPACES, namespace: None, name: namespace }
            .encode();
        let status = match snapshot.get(&key) {
            Some(_) => Status::namespace_terminating(
                &target.resource.group_resource(),
                target.name,
                namespace,
            ),
            None => Status::not_found(&GroupResource::new("", NAMESPACES), namespace),
        };
        Some(status.into())
    }

    /// This node's state once it has applied a revision (or the wait is over).
    pub(super) async fn state_at_least(&self, revision: Revision) -> Snapshot {
        let waited = tokio::time::timeout(CATCH_UP, self.store.applied(revision)).await;
        if waited.is_err() {
            tracing::warn!(%revision, "this node does not catch up; a refusal is told from an older state");
        }
        self.store.snapshot()
    }
}

/// 503 for a resource of which this node does not know the newest definition yet.
fn created_anew(target: Target<'_>) -> Error {
    let resource = target.resource.qualified();
    let why = format!("the definition of {resource} was created anew, please try again");
    Status::service_unavailable(why).with_retry_after(RETRY_AFTER_SECONDS).into()
}

/// The modification revision of an entry; zero when there is none.
pub(super) fn revision(entry: Option<&Entry>) -> Revision {
    entry.map_or(Revision::ZERO, |entry| entry.modified)
}
