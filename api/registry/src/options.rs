//! Options of writes: target, dry run, field manager, preconditions.
//!
//! Not here: how they are read from a request.

use bytes::Bytes;
use quorate_meta::Value;

use crate::{Part, Propagation, Resource};

/// The resource, namespace and name of an object, existing or not.
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
    /// The options that the client has given.
    pub given: GivenOptions<'a>,
}

/// Options as a client gives them; empty where it leaves them to the server. Admission is told them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GivenOptions<'a> {
    /// `fieldManager`.
    pub field_manager: &'a str,
    /// `fieldValidation`.
    pub field_validation: &'a str,
}

impl GivenOptions<'_> {
    /// No options.
    pub const NONE: Self = Self { field_manager: "", field_validation: "" };
}

/// Options of a change.
#[derive(Debug, Clone, Copy)]
pub struct UpdateOptions<'a> {
    /// The options of every write.
    pub write: WriteOptions<'a>,
    /// The part of the object that is changed.
    pub part: Part,
    /// The `If-Match` header: a list of the revisions that may be replaced.
    pub if_match: Option<&'a str>,
    /// Whether the change is a whole object: then another `metadata.uid` means another object
    /// (409), and an empty `metadata.resourceVersion` needs a kind that allows it.
    pub replaces: bool,
    /// The fields that the request names; `None` when it is the whole object.
    pub named: Option<&'a Value>,
}

/// Preconditions of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The revision that the object must have.
    pub resource_version: Option<String>,
}

/// Options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Do everything but the transaction.
    pub dry_run: bool,
    /// The preconditions.
    pub preconditions: Preconditions,
    /// The propagation policy; `None` leaves it to the object and its kind.
    pub propagation: Option<Propagation>,
    /// The grace period in seconds; `None` leaves it to the object.
    pub grace_seconds: Option<i64>,
    /// Whether the request is about a collection. Admission is not told the name of the object then,
    /// nor the uid that it was chosen by.
    pub of_collection: bool,
}

/// Whether a write changes `metadata.managedFields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owners {
    /// The writer becomes the manager of the fields that it changes.
    Change,
    /// The object has its managed fields already: it was applied.
    Settled,
}
