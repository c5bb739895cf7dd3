//! Admission: the interface between writes and the plugins, quotas, policies and webhooks that
//! change or refuse them.
//!
//! A [`crate::write::Writer`] asks an [`Admission`] at fixed phases of each write
//! ([`crate::write::PHASES`]); a writer without one asks nothing.
//!
//! Invariant: an implementation decides by the [`Attributes`] alone and the state that it reads; it
//! writes nothing itself, but adds what must be written, and under which conditions, to the
//! [`Terms`].
//!
//! Not here: the rules of a single kind, which are its strategy's.

use std::fmt::{self, Debug};

use async_trait::async_trait;
use quorate_meta::{Cause, Names, Status, Value};
use quorate_schema::managed::Managed;
use quorate_schema::{Graph, TypeId, apply_defaults};
use quorate_store::{Condition, Operation, Revision, Snapshot};
use tokio::sync::OwnedMutexGuard;

use super::strategy::Part;
use crate::author::Author;
use crate::error::Error;
use crate::options::{DeleteOptions, GivenOptions, Target};
use crate::permission::UserInfo;

/// Metadata that says which object it is.
const IDENTITY: [&str; 3] = ["name", "namespace", "uid"];
/// Metadata that only the server sets.
const SERVER_SET: [&str; 6] = [
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
];

/// The admission controllers of a server, asked as one.
#[async_trait]
pub trait Admission: Debug + Send + Sync {
    /// Mutating admission: changes the object before its strategy prepares and validates it, once
    /// for each generated name that is tried. The object is in canonical form with its defaults,
    /// before and after ([`Attributes::settle`]). A deletion has no new object: it passes null,
    /// which stays as it is.
    ///
    /// # Errors
    /// The refusal: in general a 403.
    async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Error>;

    /// Validating admission: admits or refuses a valid object (a deletion: the object that is
    /// deleted).
    ///
    /// # Errors
    /// The refusal: in general a 403.
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<Terms, Error>;

    /// Whether quotas may count the write, so that [`Admission::charge`] must be asked.
    fn is_counted(&self, attributes: &Attributes<'_>) -> bool;

    /// The quota phase: charges the write to the quotas that count it. Comes last, so that only
    /// what is admitted is charged.
    ///
    /// # Errors
    /// 403 for a write beyond a quota.
    async fn charge(&self, attributes: &Attributes<'_>) -> Result<Terms, Error>;
}

/// The operation of a write, as AdmissionReview names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionOperation {
    /// A new object, or a POST on a subresource.
    Create,
    /// A change of an object or of a part of it.
    Update,
    /// A deletion, also of each object of a collection.
    Delete,
    /// A connection through a subresource such as `proxy`; nothing is written.
    Connect,
}

impl AdmissionOperation {
    /// Its name in rules, reviews and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// The attributes of a write that admission decides by.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// The operation.
    pub operation: AdmissionOperation,
    /// Resource, namespace and name. A Binding that names its pod only in its body has that name.
    pub target: Target<'a>,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The part of the object that is written; `None` where nothing of it is: on connections and
    /// for subresources with a body of their own (`token`, `eviction`, a POST of a `binding`).
    pub part: Option<Part>,
    /// The type of the body, where the object is one of a subresource and nothing of `target`.
    pub body: Option<BodyType<'a>>,
    /// The object before the write; `None` for a creation.
    pub old: Option<&'a Value>,
    /// The object after the write; `None` for a deletion, and while it is mutated.
    pub new: Option<&'a Value>,
    /// The revision of the object before.
    pub revision: Option<Revision>,
    /// Whether nothing is written in the end.
    pub dry_run: bool,
    /// The options that the client has given, but those of a deletion.
    pub given: GivenOptions<'a>,
    /// The options of a deletion.
    pub delete_options: Option<&'a DeleteOptions>,
    /// The user; `None` for the server's own writes (controllers, bootstrap), which the built-in
    /// plugins always admit.
    pub user: Option<UserInfo<'a>>,
    /// The author of the write, who knows what the user may do; `None` where there is no user.
    pub author: Option<&'a dyn Author>,
}

impl Attributes<'_> {
    /// Whether the object itself is written, not one of its subresources.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.part == Some(Part::Main)
    }

    /// Brings an object, or the body, into form after a policy or webhook (`by`) has changed it from
    /// `before`: prunes it, sets its defaults, and restores the metadata that only the server sets.
    ///
    /// # Errors
    /// 500 when it does not have the types of its schema, 422 when it has become another object.
    pub fn settle(
        &self,
        names: &Names,
        by: &str,
        before: &Value,
        object: &mut Value,
    ) -> Result<(), Error> {
        let resource = self.target.resource;
        let (graph, ty, kind) = match self.body {
            Some(body) => (body.graph, body.ty, self.subresource),
            None => (&**resource.graph(), resource.ty(), resource.kind.as_str()),
        };
        quorate_schema::decode(graph, ty, object)
            .map_err(|error| Error::internal(error.for_kind(kind, &resource.api_version)))?;
        apply_defaults(graph, ty, object);
        if self.body.is_none() {
            resource.strategy.default(names, object);
            self.check_identity(by, before, object)?;
            restore(before, object);
        }
        Ok(())
    }

    /// Refuses an object that has become another one.
    fn check_identity(&self, by: &str, before: &Value, object: &Value) -> Result<(), Error> {
        let text = |object, field| Value::str_at(object, &["metadata", field]).unwrap_or_default();
        let changed =
            IDENTITY.iter().filter(|field| text(before, **field) != text(object, **field));
        let why = format!("field is immutable, and {by} has changed it");
        let causes: Vec<Cause> = changed
            .map(|field| Cause::invalid(&*format!("metadata.{field}"), text(object, *field), &why))
            .collect();
        if causes.is_empty() {
            return Ok(());
        }
        let kind = self.target.resource.group_kind();
        Err(Status::invalid(&kind, text(before, "name"), causes).into())
    }
}

/// Restores the metadata that only the server sets, and managed fields that cannot be read.
fn restore(before: &Value, object: &mut Value) {
    let managed = &["metadata", "managedFields"];
    let unreadable =
        object.at(managed) != before.at(managed) && Managed::decode(object.at(managed)).is_err();
    for field in SERVER_SET.iter().chain(unreadable.then_some(&managed[1])) {
        match before.at(&["metadata", field]) {
            Some(value) => {
                object.set_at(&["metadata", field], value.clone());
            }
            None => {
                object.remove_at(&["metadata", field]);
            }
        }
    }
}

/// The type of the body of a request on a subresource.
#[derive(Clone, Copy)]
pub struct BodyType<'a> {
    /// The schema that knows it.
    pub graph: &'a Graph,
    /// The type in it.
    pub ty: TypeId,
}

impl Debug for BodyType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyType").field("ty", &self.ty).finish_non_exhaustive()
    }
}

/// The terms under which a write is admitted.
#[derive(Debug, Default)]
pub struct Terms {
    /// Conditions of the transaction besides the object's own; when one fails, the phases run
    /// again.
    pub conditions: Vec<Condition>,
    /// Operations of the same transaction.
    pub operations: Vec<Operation>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// The lock of the namespace's quotas, held until the transaction is decided.
    pub quota_lock: Option<OwnedMutexGuard<()>>,
}

impl Terms {
    /// Whether all conditions hold in a state.
    #[must_use]
    pub fn hold_in(&self, snapshot: &Snapshot) -> bool {
        self.conditions.iter().all(|condition| match condition {
            Condition::Modified { key, revision } => {
                snapshot.get(key).map_or(Revision::ZERO, |entry| entry.modified) == *revision
            }
            Condition::Exists { key } => snapshot.get(key).is_some(),
        })
    }

    /// These terms and the other ones, of which at most one has a lock.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.conditions.extend(more.conditions);
        self.operations.extend(more.operations);
        self.warnings.extend(more.warnings);
        Self { quota_lock: self.quota_lock.or(more.quota_lock), ..self }
    }
}
