//! The options of writes: the target, dry run, field manager, conditions.

use bytes::Bytes;
use quorate_meta::Value;

use crate::{Part, Propagation, Resource};

/// One object, existing or not.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its resource.
    pub resource: &'a Resource,
    /// Its namespace; `None` for cluster-scoped resources.
    pub namespace: Option<&'a str>,
    /// Its name; empty while a create has none yet.
    pub name: &'a str,
}

impl Target<'_> {
    /// The object's key in the store.
    #[must_use]
    pub fn key(&self) -> Bytes {
        self.resource.key(self.namespace, self.name)
    }
}

/// Options of every write but a deletion.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions<'a> {
    /// Do everything but the transaction.
    pub dry_run: bool,
    /// The field manager of the fields that the write sets.
    pub manager: &'a str,
}

/// Options of a change.
#[derive(Debug, Clone, Copy)]
pub struct UpdateOptions<'a> {
    /// Those of every write.
    pub write: WriteOptions<'a>,
    /// What is changed.
    pub part: Part,
    /// The `If-Match` header: a list of the revisions that may be replaced.
    pub if_match: Option<&'a str>,
    /// Whether the change is a whole object: then another `metadata.uid` means another object (409), and an empty
    /// `metadata.resourceVersion` needs a kind that allows it.
    pub replaces: bool,
    /// What the request says of the object; `None` when that is all of it.
    pub named: Option<&'a Value>,
}

/// What must be true of the object for a deletion to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Its identity.
    pub uid: Option<String>,
    /// Its revision.
    pub resource_version: Option<String>,
}

/// Options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Do everything but the transaction.
    pub dry_run: bool,
    /// What must be true of the object.
    pub preconditions: Preconditions,
    /// What becomes of the dependents; `None` leaves it to the object and its kind.
    pub propagation: Option<Propagation>,
    /// Seconds until objects that have time to end are gone; `None` leaves it to the object.
    pub grace_seconds: Option<i64>,
}

/// What becomes of `metadata.managedFields` in a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owners {
    /// The writer takes what it changes.
    Change,
    /// The object says already who owns what: it was applied.
    Settled,
}
