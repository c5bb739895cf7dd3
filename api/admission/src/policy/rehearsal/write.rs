//! Recorded writes: changes that the store remembers, as admission saw them when they were made.
//!
//! Invariants: the part that was written is told by what has changed; a change that no client has
//! asked for, such as the end of a deletion that finalizers held, is no write.

use std::sync::Arc;

use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::write::{GivenOptions, Target};
use quorate_registry::{AdmissionOperation, Attributes, Catalogue, Part, Resource, stored_codec};
use quorate_store::{Entry, Event, Revision};

/// A write of an object.
pub(super) struct RecordedWrite<'w> {
    pub(super) resource: &'w Arc<Resource>,
    operation: AdmissionOperation,
    part: Part,
    old: Option<Value>,
    new: Option<Value>,
    /// `None` for an object that is there.
    pub(super) revision: Option<Revision>,
}

impl<'w> RecordedWrite<'w> {
    /// The write that a change was made by; `None` for what is no object or was not written.
    ///
    /// # Errors
    /// 500 for a value that does not read back.
    pub(super) fn of_event(
        catalogue: &'w Catalogue,
        event: &Event,
        revision: Revision,
    ) -> Result<Option<Self>, Error> {
        let Some(resource) = catalogue.of_key(&event.key) else {
            return Ok(None);
        };
        let decode = |entry: &Option<Entry>| {
            entry.as_ref().map(|entry| stored_codec::decode(resource, entry)).transpose()
        };
        let (old, new) = (decode(&event.previous)?, decode(&event.current)?);
        let (operation, part) = match (&old, &new) {
            (None, Some(_)) => (AdmissionOperation::Create, Part::Main),
            (Some(old), Some(new)) if is_terminating(new) && !is_terminating(old) => {
                (AdmissionOperation::Delete, Part::Main)
            }
            (Some(old), Some(new)) => (AdmissionOperation::Update, written_part(old, new)),
            (Some(old), None) if !is_terminating(old) => (AdmissionOperation::Delete, Part::Main),
            (Some(_) | None, None) => return Ok(None),
        };
        let new = new.filter(|_| operation != AdmissionOperation::Delete);
        Ok(Some(Self { resource, operation, part, old, new, revision: Some(revision) }))
    }

    /// The creation of an object that is there.
    pub(super) fn of_object(resource: &'w Arc<Resource>, object: Value) -> Self {
        Self {
            resource,
            operation: AdmissionOperation::Create,
            part: Part::Main,
            old: None,
            new: Some(object),
            revision: None,
        }
    }

    /// The attributes of the write for admission.
    pub(super) fn attributes(&self) -> Attributes<'_> {
        Attributes {
            operation: self.operation,
            target: Target {
                resource: self.resource,
                namespace: self.namespace(),
                name: self.name(),
            },
            subresource: self.part.subresource(),
            part: Some(self.part),
            body: None,
            old: self.old.as_ref(),
            new: self.new.as_ref(),
            revision: None,
            dry_run: false,
            given: GivenOptions::NONE,
            delete_options: None,
            user: None,
            author: None,
        }
    }

    /// The operation, as rules name it.
    pub(super) fn operation(&self) -> &'static str {
        self.operation.name()
    }

    /// `PLURAL.GROUP`, with the subresource after a slash.
    pub(super) fn resource_name(&self) -> String {
        match self.part.subresource() {
            "" => self.resource.qualified(),
            below => format!("{}/{below}", self.resource.qualified()),
        }
    }

    /// The namespace of the object.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.metadata("namespace").filter(|_| self.resource.namespaced)
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        self.metadata("name").unwrap_or_default()
    }

    /// The manager of the newest change that the object knows of.
    pub(super) fn manager(&self) -> String {
        let entries = self.object().and_then(|object| object.at(&["metadata", "managedFields"]));
        let entries = entries.and_then(Value::as_list).unwrap_or_default();
        let newest = entries.iter().max_by_key(|entry| entry.str_at(&["time"]).unwrap_or_default());
        let manager = newest.and_then(|entry| entry.str_at(&["manager"]));
        manager.unwrap_or_default().to_owned()
    }

    fn object(&self) -> Option<&Value> {
        self.new.as_ref().or(self.old.as_ref())
    }

    fn metadata(&self, field: &str) -> Option<&str> {
        self.object()?.str_at(&["metadata", field])
    }
}

fn is_terminating(object: &Value) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// The part that was written: the status where nothing else has changed.
fn written_part(old: &Value, new: &Value) -> Part {
    let (Some(old), Some(new)) = (old.as_map(), new.as_map()) else {
        return Part::Main;
    };
    let differ = |field: &str| old.get(field) != new.get(field);
    let mut others = old.iter().chain(new.iter()).map(|(field, _)| field);
    let is_alone = others.all(|field| matches!(field, "metadata" | "status") || !differ(field));
    let same_metadata = || {
        let fields = ["labels", "annotations", "finalizers", "ownerReferences"];
        let (old, new) = (old.get("metadata"), new.get("metadata"));
        fields.iter().all(|field| {
            old.and_then(|metadata| metadata.get(field))
                == new.and_then(|metadata| metadata.get(field))
        })
    };
    if differ("status") && is_alone && same_metadata() { Part::Status } else { Part::Main }
}
