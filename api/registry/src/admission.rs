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

use std::fmt::Debug;

use async_trait::async_trait;
use quorate_meta::Value;
use quorate_store::{Condition, Operation, Revision, Snapshot};
use tokio::sync::OwnedMutexGuard;

use super::strategy::Part;
use crate::author::Author;
use crate::error::Error;
use crate::options::{DeleteOptions, Target};
use crate::permission::UserInfo;

/// The admission controllers of a server, asked as one.
#[async_trait]
pub trait Admission: Debug + Send + Sync {
    /// Mutating admission: changes the object before its strategy prepares and validates it, once
    /// for each generated name that is tried. A deletion has no new object: it passes null, which
    /// stays as it is.
    ///
    /// # Errors
    /// The refusal: in general a 403.
    async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<Mutation, Error>;

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
    /// The object before the write; `None` for a creation.
    pub old: Option<&'a Value>,
    /// The object after the write; `None` for a deletion, and while it is mutated.
    pub new: Option<&'a Value>,
    /// Whether nothing is written in the end.
    pub dry_run: bool,
    /// The field manager.
    pub manager: &'a str,
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
}

/// The result of mutating admission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mutation {
    /// The object is in canonical form with its defaults: unchanged, or changed by a built-in
    /// plugin.
    #[default]
    Canonical,
    /// A patch from outside of the server changed the object: it is pruned and defaulted again.
    Patched,
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
